/* Linked lists: insert in order, reverse, merge, sort by merging, remove, count. */
extern void *malloc(unsigned long size);
extern void free(void *memory);

struct node { int value; struct node *next; };

struct node *prepend(struct node *list, int value) {
    struct node *head = malloc(sizeof(struct node));
    if (!head) return list;
    head->value = value;
    head->next = list;
    return head;
}

struct node *insert(struct node *list, int value) {
    if (!list || value <= list->value) return prepend(list, value);
    struct node *at = list;
    while (at->next && at->next->value < value) at = at->next;
    at->next = prepend(at->next, value);
    return list;
}

struct node *reverse(struct node *list) {
    struct node *done = 0;
    while (list) {
        struct node *next = list->next;
        list->next = done;
        done = list;
        list = next;
    }
    return done;
}

static struct node *merge(struct node *a, struct node *b) {
    struct node first, *last = &first;
    while (a && b) {
        struct node **least = a->value <= b->value ? &a : &b;
        last->next = *least;
        last = *least;
        *least = (*least)->next;
    }
    last->next = a ? a : b;
    return first.next;
}

int length(const struct node *list) {
    int n = 0;
    for (; list; list = list->next) n++;
    return n;
}

struct node *sort(struct node *list) {
    int n = length(list);
    if (n < 2) return list;
    struct node *middle = list;
    for (int i = 1; i < n / 2; i++) middle = middle->next;
    struct node *rest = middle->next;
    middle->next = 0;
    return merge(sort(list), sort(rest));
}

struct node *remove_all(struct node *list, int value) {
    struct node **link = &list;
    while (*link) {
        if ((*link)->value == value) {
            struct node *gone = *link;
            *link = gone->next;
            free(gone);
        } else {
            link = &(*link)->next;
        }
    }
    return list;
}
