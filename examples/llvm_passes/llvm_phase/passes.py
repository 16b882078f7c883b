"""The actions: names of LLVM's passes, in the spelling of ``opt -passes=…``."""

from dagsched_env.problem.errors import DAGSchedError

__all__ = ["ALL", "O3", "OZ", "STANDARD", "plain_name", "resolve"]

_STANDARD = (
    "adce aggressive-instcombine argpromotion bdce break-crit-edges called-value-propagation"
    " constmerge constraint-elimination correlated-propagation deadargelim dse early-cse"
    " early-cse<memssa> function-attrs globaldce globalopt gvn gvn-hoist indvars inline"
    " instcombine instsimplify ipsccp jump-threading licm loop-deletion loop-idiom loop-reduce"
    " loop-rotate loop-simplifycfg loop-unroll mem2reg memcpyopt mergefunc newgvn reassociate"
    " sccp simple-loop-unswitch simplifycfg simplifycfg<hoist-common-insts;sink-common-insts>"
    " sroa tailcallelim"
)
_OTHERS = (
    "add-discriminators alignment-from-assumptions always-inline annotation2metadata attributor"
    " attributor-cgscc callsite-splitting consthoist dce dfa-jump-threading div-rem-pairs"
    " elim-avail-extern fix-irreducible flattencfg float2int function-specialization gvn-sink"
    " hotcoldsplit infer-address-spaces inferattrs inject-tli-mappings instnamer irce iroutliner"
    " lcssa libcalls-shrinkwrap lnicm load-store-vectorizer loop-bound-split loop-data-prefetch"
    " loop-distribute loop-flatten loop-fusion loop-instsimplify loop-interchange loop-load-elim"
    " loop-reroll loop-simplify loop-sink loop-unroll-and-jam loop-unroll-full loop-vectorize"
    " loop-versioning loop-versioning-licm lower-constant-intrinsics lower-expect"
    " lower-matrix-intrinsics loweratomic lowerinvoke lowerswitch mergeicmps mergereturn"
    " mldst-motion module-inline nary-reassociate partial-inliner partially-inline-libcalls"
    " reg2mem rel-lookup-table-converter rpo-function-attrs scalarize-masked-mem-intrin"
    " scalarizer separate-const-offset-from-gep simple-loop-unswitch<nontrivial> sink"
    " slp-vectorizer slsr speculative-execution strip strip-dead-debug-info"
    " strip-dead-prototypes strip-debug-declare strip-nondebug strip-nonlinetable-debuginfo"
    " structurizecfg unify-loop-exits vector-combine"
)

STANDARD = tuple(_STANDARD.split())
"""42 passes that make modules smaller, or prepare them for others that do.

They give the same for the same module; ``gvn-sink``, whose result depends on addresses, is not one.
"""

ALL = (*STANDARD, *_OTHERS.split())
"""119 passes: every transformation of LLVM 14 that asks for no profile and instruments nothing."""

OZ, O3 = "default<Oz>", "default<O3>"
"""Pipelines to compare with: the one for small code, and the one for fast code."""


def plain_name(name: str) -> str:
    """A name without the dashes of the old command line: ``-mem2reg`` is ``mem2reg``."""
    return name.strip().lstrip("-")


def resolve(passes: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The passes of an action space.

    Args:
        passes: ``"standard"``, ``"all"``, or names from ``ALL``, with or without a dash.

    Raises:
        DAGSchedError: a name is unknown or comes twice, or there is none.
    """
    if passes in ("standard", "all"):
        return STANDARD if passes == "standard" else ALL
    if isinstance(passes, str):
        raise DAGSchedError(f"passes={passes!r}: give 'standard', 'all' or a list of names")
    names = tuple(plain_name(name) for name in passes)
    for name in names:
        if name not in ALL:
            raise DAGSchedError(f"pass {name!r} is unknown: give one of {', '.join(ALL)}")
    if not names or len(set(names)) < len(names):
        raise DAGSchedError(f"passes={list(names)}: give at least one, and each once")
    return names
