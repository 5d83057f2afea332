import { hashOf } from './hashes.ts'
import type { Mutant } from './mutant.ts'
import { addLine, readLines } from './store-files.ts'

/** `hung`: a test did not end, or the process died. This counts as killed too. */
export type Fate = 'killed' | 'hung' | 'survived' | 'not reached'

export interface MutantResult {
  readonly fate: Fate
  /** The test file and the test that failed. */
  readonly by?: { readonly file: string; readonly test: string } | undefined
  readonly ms: number
}

export interface Outcome extends MutantResult {
  readonly file: string
  readonly mutant: string
  /** Hash of all sources and of the tests involved: the killer, or every test that could have killed. */
  readonly proof: string
}

/** Outcomes of earlier runs, and of this one. */
export interface Outcomes {
  /** Returns the outcome of a mutant if it is still valid with these tests; undefined if it must be tried. */
  of(mutant: Mutant, tests: readonly string[]): Outcome | undefined
  /** Returns the test file that killed it last, regardless of changes since; it is tried first. */
  lastKiller(mutant: Mutant): string | undefined
  /** Returns how many mutants of a file each test file has killed, as far as known. */
  kills(file: string): ReadonlyMap<string, number>
  add(mutant: Mutant, tests: readonly string[], found: MutantResult): void
}

const NAME = 'outcomes'

export function loadOutcomes(sources: string): Outcomes {
  const last = new Map<string, Outcome>()
  const killers = new Map<string, string>()
  const kills = new Map<string, Map<string, number>>()
  const keyOf = (file: string, mutant: string): string => `${file}\n${mutant}`
  const take = (outcome: Outcome): void => {
    const key = keyOf(outcome.file, outcome.mutant)
    last.set(key, outcome)
    if (outcome.by === undefined) return
    killers.set(key, outcome.by.file)
    const counts = kills.get(outcome.file) ?? new Map<string, number>()
    kills.set(outcome.file, counts.set(outcome.by.file, (counts.get(outcome.by.file) ?? 0) + 1))
  }
  const proofs = new Map<string, string>()
  const proofOf = ({ by }: MutantResult, tests: readonly string[]): string => {
    const needed = by === undefined ? tests : [by.file]
    const key = needed.join()
    const proof = proofs.get(key) ?? hashOf(needed, sources)
    proofs.set(key, proof)
    return proof
  }
  for (const outcome of readLines<Outcome>(NAME)) take(outcome)
  return {
    of({ file, name }, tests) {
      const outcome = last.get(keyOf(file, name))
      if (outcome?.by !== undefined && !tests.includes(outcome.by.file)) return undefined
      return outcome !== undefined && outcome.proof === proofOf(outcome, tests) ? outcome : undefined
    },
    lastKiller: ({ file, name }) => killers.get(keyOf(file, name)),
    kills: (file) => kills.get(file) ?? new Map<string, number>(),
    add({ file, name }, tests, found) {
      const outcome = { file, mutant: name, proof: proofOf(found, tests), ...found }
      addLine(NAME, outcome)
      take(outcome)
    },
  }
}
