// A library that reads a file before the program it was put into begins.
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void begin(void) {
    char text[256];
    FILE *file = fopen(getenv("SECRET_FILE"), "r");
    if (file && fgets(text, sizeof(text), file)) fputs(text, stdout);
    fflush(stdout);
}
