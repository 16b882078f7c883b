/* Checksums: CRC-32 by bits and by table, Adler-32, Fletcher-16, FNV-1a. */
typedef unsigned int u32;

static u32 table[256];
static int ready;

static u32 by_bits(u32 crc, int bits) {
    for (int i = 0; i < bits; i++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

static void prepare(void) {
    if (ready) return;
    for (u32 i = 0; i < 256; i++) table[i] = by_bits(i, 8);
    ready = 1;
}

u32 crc_slow(const unsigned char *data, long n) {
    u32 crc = ~0u;
    for (long i = 0; i < n; i++) crc = by_bits(crc ^ data[i], 8);
    return ~crc;
}

u32 crc_fast(const unsigned char *data, long n) {
    u32 crc = ~0u;
    prepare();
    for (long i = 0; i < n; i++) crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

u32 adler(const unsigned char *data, long n) {
    u32 a = 1, b = 0;
    for (long i = 0; i < n; i++) {
        a = (a + data[i]) % 65521u;
        b = (b + a) % 65521u;
    }
    return b << 16 | a;
}

unsigned short fletcher(const unsigned char *data, long n) {
    unsigned short low = 0, high = 0;
    while (n-- > 0) {
        low = (unsigned short)((low + *data++) % 255);
        high = (unsigned short)((high + low) % 255);
    }
    return (unsigned short)(high << 8 | low);
}

u32 fnv(const char *text) {
    u32 hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

u32 all(const unsigned char *data, long n) {
    u32 slow = crc_slow(data, n), fast = crc_fast(data, n);
    if (slow != fast) return 0;
    return slow ^ adler(data, n) ^ fletcher(data, n);
}
