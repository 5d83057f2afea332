import { reasonFor } from './equivalent.ts'
import type { Mutant } from './mutant.ts'
import type { Outcome } from './outcomes.ts'
import type { FileResult } from './result-file.ts'

/** Sums up the outcomes per file. */
export function summarise(mutants: readonly Mutant[], outcomes: readonly Outcome[]): readonly FileResult[] {
  const fates = new Map(outcomes.map(({ file, mutant, fate }) => [`${file}\n${mutant}`, fate]))
  return [...Map.groupBy(mutants, ({ file }) => file)].map(([file, own]) => {
    const fateOf = ({ name }: Mutant): Outcome['fate'] | undefined => fates.get(`${file}\n${name}`)
    const count = (fate: Outcome['fate']): number => own.filter((mutant) => fateOf(mutant) === fate).length
    return {
      file,
      mutants: own.filter((mutant) => reasonFor(mutant) === undefined).length,
      killed: count('killed'),
      hung: count('hung'),
      survived: own.flatMap((mutant) =>
        ['survived', 'not reached'].includes(fateOf(mutant) ?? '') ? [`${mutant.line} ${mutant.name}`] : [],
      ),
      equivalent: own.flatMap((mutant): [string, string][] => {
        const reason = reasonFor(mutant)
        return reason === undefined ? [] : [[mutant.name, reason]]
      }),
    }
  })
}
