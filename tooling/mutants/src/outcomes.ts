import { hashOf } from './hashes.ts'
import type { Mutant } from './mutant.ts'
import { addLine, readLines } from './store-files.ts'

/** `hung`: a test did not end, or the process did not survive it, which is noticed as well. */
export type Fate = 'killed' | 'hung' | 'survived' | 'not reached'

export interface MutantResult {
  readonly fate: Fate
  /** The test file that noticed, and the test. */
  readonly by?: { readonly file: string; readonly test: string } | undefined
  readonly ms: number
}

export interface Outcome extends MutantResult {
  readonly file: string
  readonly mutant: string
  /** Of all sources, and of the tests that it depends on: the one that noticed, or all that could have. */
  readonly proof: string
}

/** What earlier runs have found, and what this one finds. */
export interface Outcomes {
  /** What is known of a mutant, if it still holds with these tests; undefined when it has to be tried. */
  of(mutant: Mutant, tests: readonly string[]): Outcome | undefined
  /** The test file that noticed it last, whatever has changed since: the first to be tried. */
  lastKiller(mutant: Mutant): string | undefined
  /** How many mutants of a file each test file has noticed, as far as is known. */
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
