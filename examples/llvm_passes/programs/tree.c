/* A search tree that balances itself by random priorities: insert, remove, ranks, sums. */
struct node { int key, priority, size; struct node *left, *right; };

static int size_of(const struct node *t) { return t ? t->size : 0; }

static struct node *updated(struct node *t) {
    t->size = size_of(t->left) + size_of(t->right) + 1;
    return t;
}

static void split(struct node *t, int key, struct node **low, struct node **high) {
    if (!t) {
        *low = *high = 0;
    } else if (t->key < key) {
        split(t->right, key, &t->right, high);
        *low = updated(t);
    } else {
        split(t->left, key, low, &t->left);
        *high = updated(t);
    }
}

static struct node *merge(struct node *a, struct node *b) {
    if (!a) return b;
    if (!b) return a;
    if (a->priority > b->priority) {
        a->right = merge(a->right, b);
        return updated(a);
    }
    b->left = merge(a, b->left);
    return updated(b);
}

struct node *insert(struct node *t, struct node *fresh) {
    struct node *low, *high;
    fresh->left = fresh->right = 0;
    fresh->size = 1;
    split(t, fresh->key, &low, &high);
    return merge(merge(low, fresh), high);
}

struct node *erase(struct node *t, int key) {
    struct node *low, *middle, *high;
    split(t, key, &low, &high);
    split(high, key + 1, &middle, &high);
    return merge(low, high);
}

int contains(const struct node *t, int key) {
    while (t && t->key != key) t = key < t->key ? t->left : t->right;
    return t != 0;
}

int rank(const struct node *t, int key) {
    int below = 0;
    while (t) {
        if (t->key < key) {
            below += size_of(t->left) + 1;
            t = t->right;
        } else {
            t = t->left;
        }
    }
    return below;
}

int height(const struct node *t) {
    if (!t) return 0;
    int left = height(t->left), right = height(t->right);
    return (left > right ? left : right) + 1;
}

long sum_between(const struct node *t, int low, int high) {
    if (!t) return 0;
    if (t->key < low) return sum_between(t->right, low, high);
    if (t->key > high) return sum_between(t->left, low, high);
    return t->key + sum_between(t->left, low, high) + sum_between(t->right, low, high);
}
