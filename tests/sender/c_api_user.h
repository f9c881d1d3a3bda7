/* What a program in C does with the sender. Each function returns 0, or the line that saw something wrong. */
#ifndef SIDEBAND_TESTS_C_API_USER_H
#define SIDEBAND_TESTS_C_API_USER_H

#ifdef __cplusplus
extern "C" {
#endif

int log_everything(const char* spool_dir);
int read_the_error_of_a_wrong_option(const char* spool_dir);
int use_null_handles(void);
int open_with_a_shorter_struct(const char* spool_dir);

#ifdef __cplusplus
}
#endif

#endif
