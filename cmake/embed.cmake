# SPDX-License-Identifier: Apache-2.0
# Writes a text file as a C array of bytes, so that no string length limit applies.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n" bytes "${bytes}")
get_filename_component(name ${IN} NAME)
file(WRITE ${OUT} "/* made from ${name} */\nextern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
