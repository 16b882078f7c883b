/* Base64: encode, decode, and a check that one is the inverse of the other. */
static const char ALPHABET[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char letter) {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9') return letter - '0' + 52;
    if (letter == '+') return 62;
    if (letter == '/') return 63;
    return -1;
}

int encode(const unsigned char *in, int n, char *out) {
    int length = 0;
    for (int i = 0; i < n; i += 3) {
        unsigned word = (unsigned)in[i] << 16;
        if (i + 1 < n) word |= (unsigned)in[i + 1] << 8;
        if (i + 2 < n) word |= in[i + 2];
        out[length++] = ALPHABET[word >> 18 & 63];
        out[length++] = ALPHABET[word >> 12 & 63];
        out[length++] = i + 1 < n ? ALPHABET[word >> 6 & 63] : '=';
        out[length++] = i + 2 < n ? ALPHABET[word & 63] : '=';
    }
    out[length] = 0;
    return length;
}

int decode(const char *in, unsigned char *out) {
    int length = 0, bits = 0;
    unsigned word = 0;
    for (int i = 0; in[i] && in[i] != '='; i++) {
        int value = value_of(in[i]);
        if (value < 0) return -1;
        word = word << 6 | (unsigned)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[length++] = (unsigned char)(word >> bits);
        }
    }
    return length;
}

int round_trip(const unsigned char *in, int n) {
    char text[256];
    unsigned char back[192];
    if (n > 180) return 0;
    encode(in, n, text);
    if (decode(text, back) != n) return 0;
    for (int i = 0; i < n; i++)
        if (back[i] != in[i]) return 0;
    return 1;
}
