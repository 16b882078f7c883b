/* Compression: run lengths, and a Lempel-Ziv code with a window of 255 bytes. */
typedef unsigned char byte;

int pack_runs(const byte *in, int n, byte *out) {
    int length = 0;
    for (int i = 0; i < n;) {
        int run = 1;
        while (i + run < n && run < 255 && in[i + run] == in[i]) run++;
        out[length++] = (byte)run;
        out[length++] = in[i];
        i += run;
    }
    return length;
}

int unpack_runs(const byte *in, int n, byte *out) {
    int length = 0;
    for (int i = 0; i + 1 < n; i += 2)
        for (int k = 0; k < in[i]; k++) out[length++] = in[i + 1];
    return length;
}

static int match(const byte *a, const byte *b, int most) {
    int n = 0;
    while (n < most && a[n] == b[n]) n++;
    return n;
}

static int longest(const byte *in, int n, int at, int *back) {
    int best = 0, most = n - at < 255 ? n - at : 255;
    for (int distance = 1; distance <= 255 && distance <= at; distance++) {
        int length = match(in + at, in + at - distance, most);
        if (length > best) {
            best = length;
            *back = distance;
        }
    }
    return best;
}

int compress(const byte *in, int n, byte *out) {
    int length = 0;
    for (int at = 0; at < n;) {
        int back = 0, found = longest(in, n, at, &back);
        if (found >= 4) {
            out[length++] = (byte)back;
            out[length++] = (byte)found;
            at += found;
        } else {
            out[length++] = 0;
            out[length++] = in[at++];
        }
    }
    return length;
}

int expand(const byte *in, int n, byte *out) {
    int length = 0;
    for (int i = 0; i + 1 < n; i += 2) {
        if (in[i] == 0) {
            out[length++] = in[i + 1];
            continue;
        }
        for (int k = 0; k < in[i + 1]; k++) {
            out[length] = out[length - in[i]];
            length++;
        }
    }
    return length;
}
