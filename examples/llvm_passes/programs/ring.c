/* Queues between a writer and a reader: a ring of bytes, framed messages, moving averages. */
#define ROOM 128

struct ring { unsigned char data[ROOM]; unsigned read, written; };

static unsigned used(const struct ring *r) { return r->written - r->read; }
static unsigned room(const struct ring *r) { return ROOM - used(r); }

int put(struct ring *r, unsigned char byte) {
    if (room(r) == 0) return 0;
    r->data[r->written++ % ROOM] = byte;
    return 1;
}

int get(struct ring *r, unsigned char *byte) {
    if (used(r) == 0) return 0;
    *byte = r->data[r->read++ % ROOM];
    return 1;
}

static unsigned char sum(const unsigned char *data, int n) {
    unsigned char total = 0;
    for (int i = 0; i < n; i++) total = (unsigned char)(total + data[i]);
    return total;
}

int send(struct ring *r, const unsigned char *message, int n) {
    if (n > 60 || room(r) < (unsigned)n + 3) return 0;
    put(r, 0x7e);
    put(r, (unsigned char)n);
    for (int i = 0; i < n; i++) put(r, message[i]);
    put(r, sum(message, n));
    return 1;
}

int receive(struct ring *r, unsigned char *message) {
    unsigned char byte, n, check;
    do {
        if (!get(r, &byte)) return -1;
    } while (byte != 0x7e);
    if (!get(r, &n) || n > 60) return -2;
    for (int i = 0; i < n; i++)
        if (!get(r, &message[i])) return -3;
    if (!get(r, &check) || check != sum(message, n)) return -4;
    return n;
}

struct average { int window[8]; int at, full; long total; };

int smooth(struct average *a, int sample) {
    a->total += sample - (a->full ? a->window[a->at] : 0);
    a->window[a->at] = sample;
    a->at = (a->at + 1) % 8;
    if (a->at == 0) a->full = 1;
    return (int)(a->total / (a->full ? 8 : a->at));
}

int peaks(const int *sample, int n) {
    struct average a = {{0}, 0, 0, 0};
    int count = 0, above = 0;
    for (int i = 0; i < n; i++) {
        int mean = smooth(&a, sample[i]), now = sample[i] > 2 * mean;
        count += now && !above;
        above = now;
    }
    return count;
}
