# cmake -DINPUT=... -DOUTPUT=....c -DNAME=... -P EmbedFile.cmake: a file as a C array NAME of
# NAME_len bytes.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR len "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
       bytes "${bytes}")
file(WRITE ${OUTPUT}
     "#include <stddef.h>\n#include <stdint.h>\n\n"
     "extern const uint8_t ${NAME}[];\nextern const size_t ${NAME}_len;\n\n"
     "const uint8_t ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_len = ${len};\n")
