"""A TCP relay between a sender and a collector: gives a collector that starts again on other ports one address, and does to
links what networks do.
"""

import dataclasses
import socket
import threading
import time


@dataclasses.dataclass
class Direction:
    """How bytes travel one way, of all connections."""

    stalled: bool = False  # nothing is read: the source's TCP window closes
    swallowed: bool = False  # bytes vanish: the connection must be cut afterwards, the rest would make no sense
    delay_s: float = 0


class Relay:
    """Listens on `endpoint`. Each connection is carried to `target` as it is at that moment, one thread a direction."""

    def __init__(self):
        self.target = ""  # empty: new connections are ended at once
        self.cut_after_bytes = 0  # towards the target, of one connection; 0: never
        self.cut = threading.Semaphore(0)  # released at each cut
        self.there, self.back = Direction(), Direction()
        self._changed = threading.Condition()
        self._ended = self._refusing = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.endpoint = f"tcp://127.0.0.1:{self.port}"
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, name="relay")

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended = True
        self.change(self.there, stalled=False)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def change(self, direction: Direction, **settings) -> None:
        """Sets fields of a direction, from any thread."""
        with self._changed:
            for name, value in settings.items():
                setattr(direction, name, value)
            self._changed.notify_all()

    def cut_all(self) -> None:
        """Ends every connection; new ones go through."""
        for connection in list(self._open):
            _end(connection)

    def refuse(self) -> None:
        """The link is down: every connection ends, and new ones end at once."""
        self._refusing = True
        self.cut_all()

    def accept_again(self) -> None:
        self._refusing = False

    def _accept(self) -> None:
        pumps = []
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                break
            try:
                if self._refusing:
                    raise ConnectionRefusedError
                host, port = self.target.removeprefix("tcp://").rsplit(":", 1)
                far = socket.create_connection((host, int(port)))
            except (OSError, ValueError):
                near.close()  # nobody is there: the sender tries again
                continue
            self._open |= {near, far}
            ways = ((near, far, self.there, self.cut_after_bytes), (far, near, self.back, 0))
            for source, drain, direction, limit in ways:
                pumps.append(threading.Thread(target=self._pump, args=(source, drain, direction, limit)))
                pumps[-1].start()
        for connection in list(self._open):
            _end(connection)
        for pump in pumps:
            pump.join()
        for connection in self._open:
            connection.close()

    def _pump(self, source: socket.socket, drain: socket.socket, direction: Direction, limit: int) -> None:
        carried = 0
        try:
            while data := source.recv(65_536):
                self._wait_for(direction)
                if direction.swallowed:
                    continue
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

    def _wait_for(self, direction: Direction) -> None:
        if direction.delay_s:
            time.sleep(direction.delay_s)  # the fault itself
        with self._changed:
            self._changed.wait_for(lambda: self._ended or not direction.stalled)


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it ended by itself
