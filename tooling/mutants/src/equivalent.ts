import type { Mutant } from './mutant.ts'
import { changes } from './equivalent/changes.ts'
import { cleaner } from './equivalent/cleaner.ts'
import { drivers } from './equivalent/drivers.ts'
import { indexEngine } from './equivalent/index-engine.ts'
import { kinds } from './equivalent/kinds.ts'
import { moves } from './equivalent/moves.ts'
import { store } from './equivalent/store.ts'

/**
 * Reasons why no test can kill a mutant, by file and name of the mutant. A file is a path without
 * `packages/`, `/src/` and `.ts`, such as `store/entity-writer`.
 */
export type Equivalents = Readonly<Record<string, Readonly<Record<string, string>>>>

const ALL: Equivalents = {
  ...changes,
  ...cleaner,
  ...drivers,
  ...indexEngine,
  ...kinds,
  ...moves,
  ...store,
}

/** Returns why a mutant is equivalent; undefined if a test must kill it. */
export function reasonFor({ file, name }: Pick<Mutant, 'file' | 'name'>): string | undefined {
  return ALL[shortName(file)]?.[name]
}

/** Returns the reasons whose mutants do not exist, or no longer exist. */
export function obsoleteReasons(mutants: readonly Mutant[], reasons: Equivalents = ALL): readonly string[] {
  const known = new Set(mutants.map(({ file, name }) => `${shortName(file)}: ${name}`))
  return Object.entries(reasons).flatMap(([file, names]) =>
    Object.keys(names)
      .map((name) => `${file}: ${name}`)
      .filter((key) => !known.has(key)),
  )
}

function shortName(file: string): string {
  return file
    .replace(/^packages\//, '')
    .replace('/src/', '/')
    .replace(/\.ts$/, '')
}
