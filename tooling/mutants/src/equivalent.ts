import type { Mutant } from './mutant.ts'
import { cleaner } from './equivalent/cleaner.ts'
import { drivers } from './equivalent/drivers.ts'
import { indexEngine } from './equivalent/index-engine.ts'
import { store } from './equivalent/store.ts'

/**
 * By the name of a mutant, why no test can notice it. By file: a path, of which `packages/` and `/src/` and `.ts` are
 * left out, such as `store/entity-writer`.
 */
export type Equivalents = Readonly<Record<string, Readonly<Record<string, string>>>>

const ALL: Equivalents = { ...cleaner, ...drivers, ...indexEngine, ...store }

/** Why a mutant is no mistake; undefined where a test has to notice it. */
export function reasonFor({ file, name }: Mutant): string | undefined {
  return ALL[shortName(file)]?.[name]
}

/** Reasons for what does not exist, or no more. */
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
