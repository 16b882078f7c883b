/* A reader of JSON that keeps nothing: is the text valid, how deep is it, how many values? */
struct reader { const char *at; int depth, deepest, values, error; };

static int value(struct reader *r);

static void blanks(struct reader *r) {
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r') r->at++;
}

static int take(struct reader *r, char expected) {
    blanks(r);
    if (*r->at != expected) return 0;
    r->at++;
    return 1;
}

static int word(struct reader *r, const char *text) {
    for (; *text; text++)
        if (*r->at++ != *text) return 0;
    return 1;
}

static int string(struct reader *r) {
    if (!take(r, '"')) return 0;
    while (*r->at != '"') {
        if (*r->at == '\\') r->at++;
        if (!*r->at) return 0;
        r->at++;
    }
    r->at++;
    return 1;
}

static int digits(struct reader *r) {
    const char *start = r->at;
    while (*r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > start;
}

static int number(struct reader *r) {
    if (*r->at == '-') r->at++;
    if (!digits(r)) return 0;
    if (*r->at == '.') {
        r->at++;
        if (!digits(r)) return 0;
    }
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        if (*r->at == '+' || *r->at == '-') r->at++;
        return digits(r);
    }
    return 1;
}

static int members(struct reader *r, char close, int named) {
    if (++r->depth > r->deepest) r->deepest = r->depth;
    if (!take(r, close)) {
        do {
            if (named && !(string(r) && take(r, ':'))) return 0;
            if (!value(r)) return 0;
        } while (take(r, ','));
        if (!take(r, close)) return 0;
    }
    r->depth--;
    return 1;
}

static int value(struct reader *r) {
    blanks(r);
    r->values++;
    switch (*r->at) {
    case '{': r->at++; return members(r, '}', 1);
    case '[': r->at++; return members(r, ']', 0);
    case '"': return string(r);
    case 't': return word(r, "true");
    case 'f': return word(r, "false");
    case 'n': return word(r, "null");
    default: return number(r);
    }
}

int validate(const char *text, int *depth, int *values) {
    struct reader r = {text, 0, 0, 0, 0};
    int good = value(&r);
    blanks(&r);
    *depth = r.deepest;
    *values = r.values;
    return good && !*r.at;
}
