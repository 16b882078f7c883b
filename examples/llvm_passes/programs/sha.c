/* Mixing of bits: SHA-256, a stream cipher in the manner of ChaCha, a keyed hash. */
typedef unsigned int u32;
typedef unsigned char byte;

static u32 right(u32 x, int n) { return x >> n | x << (32 - n); }
static u32 left(u32 x, int n) { return x << n | x >> (32 - n); }

static u32 word(const byte *data) {
    return (u32)data[0] << 24 | (u32)data[1] << 16 | (u32)data[2] << 8 | data[3];
}

void sha_block(u32 *state, const byte *block, const u32 *constant) {
    u32 w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = word(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        u32 a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (right(a, 7) ^ right(a, 18) ^ a >> 3)
               + (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) s[i] = state[i];
    for (int i = 0; i < 64; i++) {
        u32 e = s[4], a = s[0];
        u32 one = s[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25))
                  + ((e & s[5]) ^ (~e & s[6])) + constant[i] + w[i];
        u32 two = (right(a, 2) ^ right(a, 13) ^ right(a, 22))
                  + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; k--) s[k] = s[k - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

static void quarter(u32 *x, int a, int b, int c, int d) {
    x[a] += x[b]; x[d] = left(x[d] ^ x[a], 16);
    x[c] += x[d]; x[b] = left(x[b] ^ x[c], 12);
    x[a] += x[b]; x[d] = left(x[d] ^ x[a], 8);
    x[c] += x[d]; x[b] = left(x[b] ^ x[c], 7);
}

void stream_block(const u32 *key, u32 *out) {
    for (int i = 0; i < 16; i++) out[i] = key[i];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) quarter(out, i, i + 4, i + 8, i + 12);
        for (int i = 0; i < 4; i++)
            quarter(out, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12);
    }
    for (int i = 0; i < 16; i++) out[i] += key[i];
}

void encrypt(u32 *key, byte *data, long n) {
    u32 block[16];
    for (long i = 0; i < n; i++) {
        if (i % 64 == 0) {
            stream_block(key, block);
            key[12]++;
        }
        data[i] ^= (byte)(block[i / 4 % 16] >> 8 * (i % 4));
    }
}

u32 keyed(const byte *data, long n, u32 key) {
    u32 hash = key;
    for (long i = 0; i + 4 <= n; i += 4) {
        u32 part = left(word(data + i) * 0xcc9e2d51u, 15) * 0x1b873593u;
        hash = left(hash ^ part, 13) * 5 + 0xe6546b64u;
    }
    hash ^= (u32)n;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    return hash ^ hash >> 13;
}
