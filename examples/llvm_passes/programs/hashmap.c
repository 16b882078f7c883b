/* A map from text to numbers with open addressing, and a count of words with it. */
#define SLOTS 256

struct entry { char key[16]; int value, used; };
struct map { struct entry entry[SLOTS]; int count; };

static unsigned hash(const char *key) {
    unsigned h = 5381;
    while (*key) h = h * 33 + (unsigned char)*key++;
    return h;
}

static int same(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static void copy(char *to, const char *from) {
    int i = 0;
    for (; from[i] && i < 15; i++) to[i] = from[i];
    to[i] = 0;
}

static struct entry *find(struct map *m, const char *key) {
    unsigned at = hash(key) % SLOTS;
    for (int tries = 0; tries < SLOTS; tries++) {
        struct entry *e = &m->entry[at];
        if (!e->used || same(e->key, key)) return e;
        at = (at + 1) % SLOTS;
    }
    return 0;
}

void reset(struct map *m) {
    m->count = 0;
    for (int i = 0; i < SLOTS; i++) m->entry[i].used = 0;
}

int get(struct map *m, const char *key, int otherwise) {
    struct entry *e = find(m, key);
    return e && e->used ? e->value : otherwise;
}

int set(struct map *m, const char *key, int value) {
    struct entry *e = find(m, key);
    if (!e) return 0;
    if (!e->used) {
        copy(e->key, key);
        e->used = 1;
        m->count++;
    }
    e->value = value;
    return 1;
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int count_words(struct map *m, const char *text) {
    char word[16];
    int length = 0, words = 0;
    reset(m);
    for (;; text++) {
        if (is_letter(*text) && length < 15) {
            word[length++] = *text;
        } else if (length > 0) {
            word[length] = 0;
            set(m, word, get(m, word, 0) + 1);
            length = 0;
            words++;
        }
        if (!*text) return words;
    }
}
