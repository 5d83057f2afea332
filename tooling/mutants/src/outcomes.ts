import type { Mutant } from './mutant.ts'
import { addLine, readLines } from './store-files.ts'

/** `hung`: a test did not end, or the process did not survive it, which is noticed as well. */
export type Fate = 'killed' | 'hung' | 'survived' | 'not reached'

export interface Outcome {
  readonly file: string
  readonly mutant: string
  /** Of all code and tests. */
  readonly tree: string
  readonly fate: Fate
  /** The test that noticed, as `file > name`. */
  readonly by?: string | undefined
  readonly ms: number
}

/** What earlier runs have found, and what this one finds. */
export interface Outcomes {
  /** That of a mutant of this very code; undefined when it has to be run. */
  of(mutant: Mutant): Outcome | undefined
  /** The test file that noticed it last, whatever has changed since: the first to be tried. */
  lastKiller(mutant: Mutant): string | undefined
  add(mutant: Mutant, found: Pick<Outcome, 'fate' | 'by' | 'ms'>): void
}

const NAME = 'outcomes'

export function loadOutcomes(tree: string): Outcomes {
  const current = new Map<string, Outcome>()
  const killers = new Map<string, string>()
  const keyOf = (file: string, mutant: string): string => `${file}\n${mutant}`
  const take = (outcome: Outcome): void => {
    const key = keyOf(outcome.file, outcome.mutant)
    if (outcome.tree === tree) current.set(key, outcome)
    const killer = outcome.by?.split(' > ')[0]
    if (killer !== undefined) killers.set(key, killer)
  }
  for (const outcome of readLines<Outcome>(NAME)) take(outcome)
  return {
    of: ({ file, name }) => current.get(keyOf(file, name)),
    lastKiller: ({ file, name }) => killers.get(keyOf(file, name)),
    add({ file, name }, found) {
      const outcome = { file, mutant: name, tree, ...found }
      addLine(NAME, outcome)
      take(outcome)
    },
  }
}
