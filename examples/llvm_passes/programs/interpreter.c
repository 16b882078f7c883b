/* A stack machine: arithmetic, jumps, calls; with a check of programs before they run. */
enum op { PUSH, POP, ADD, SUB, MUL, DIV, DUP, SWAP, LESS, JUMP, BRANCH, CALL, RETURN, PRINT, HALT };

struct instruction { enum op op; int argument; };
struct machine { int stack[64], calls[32], top, depth, at, steps, error; };

extern int printf(const char *format, ...);

static void push(struct machine *m, int value) {
    if (m->top >= 64) m->error = 1;
    else m->stack[m->top++] = value;
}

static int pop(struct machine *m) {
    if (m->top > 0) return m->stack[--m->top];
    m->error = 2;
    return 0;
}

static int divide(struct machine *m, int a, int b) {
    if (b == 0) {
        m->error = 3;
        return 0;
    }
    return a / b;
}

int run(const struct instruction *code, int n, int limit) {
    struct machine m;
    m.top = m.depth = m.at = m.steps = m.error = 0;
    while (m.at >= 0 && m.at < n && !m.error && m.steps++ < limit) {
        struct instruction in = code[m.at++];
        int a, b;
        switch (in.op) {
        case PUSH: push(&m, in.argument); break;
        case POP: pop(&m); break;
        case ADD: b = pop(&m); a = pop(&m); push(&m, a + b); break;
        case SUB: b = pop(&m); a = pop(&m); push(&m, a - b); break;
        case MUL: b = pop(&m); a = pop(&m); push(&m, a * b); break;
        case DIV: b = pop(&m); a = pop(&m); push(&m, divide(&m, a, b)); break;
        case DUP: a = pop(&m); push(&m, a); push(&m, a); break;
        case SWAP: b = pop(&m); a = pop(&m); push(&m, b); push(&m, a); break;
        case LESS: b = pop(&m); a = pop(&m); push(&m, a < b); break;
        case JUMP: m.at = in.argument; break;
        case BRANCH: if (pop(&m)) m.at = in.argument; break;
        case CALL:
            if (m.depth >= 32) m.error = 4;
            else { m.calls[m.depth++] = m.at; m.at = in.argument; }
            break;
        case RETURN:
            if (m.depth == 0) m.error = 5;
            else m.at = m.calls[--m.depth];
            break;
        case PRINT: printf("%d\n", pop(&m)); break;
        case HALT: return m.top > 0 ? m.stack[m.top - 1] : 0;
        }
    }
    return -m.error;
}

int is_sound(const struct instruction *code, int n) {
    for (int i = 0; i < n; i++) {
        enum op op = code[i].op;
        if (op == JUMP || op == BRANCH || op == CALL)
            if (code[i].argument < 0 || code[i].argument >= n) return 0;
    }
    return n > 0 && code[n - 1].op == HALT;
}
