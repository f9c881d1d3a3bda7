"""A TCP relay between a sender and a collector: gives a collector that starts again on other ports one address, and cuts
links after a number of bytes.
"""

import socket
import threading


class Relay:
    """Listens on `endpoint`. Each connection is carried to `target` as it is at that moment, one thread a direction."""

    def __init__(self):
        self.target = ""
        self.cut_after_bytes = 0  # towards the target, of one connection; 0: never
        self.cut = threading.Semaphore(0)  # released at each cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, name="relay")

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        pumps = []
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                break
            try:
                host, port = self.target.removeprefix("tcp://").rsplit(":", 1)
                far = socket.create_connection((host, int(port)))
            except (OSError, ValueError):
                near.close()  # nobody is there: the sender tries again
                continue
            self._open |= {near, far}
            for source, drain, limit in ((near, far, self.cut_after_bytes), (far, near, 0)):
                pumps.append(threading.Thread(target=self._pump, args=(source, drain, limit)))
                pumps[-1].start()
        for connection in list(self._open):
            _end(connection)
        for pump in pumps:
            pump.join()
        for connection in self._open:
            connection.close()

    def _pump(self, source: socket.socket, drain: socket.socket, limit: int) -> None:
        carried = 0
        try:
            while data := source.recv(65_536):
                if limit and carried + len(data) >= limit:
                    drain.sendall(data[: limit - carried])
                    self.cut.release()
                    break
                drain.sendall(data)
                carried += len(data)
        except OSError:
            pass  # the other end of the pair was cut
        _end(source)
        _end(drain)


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it ended by itself
