import { badOption } from '@looseleaf/core/internal'
import type { AnyKind } from '@looseleaf/kinds'
import type { Settings } from '../running/invocation.ts'

/** Returns the config's kinds with these names, or all without names. Throws `BAD_OPTION`. */
export function kindsNamed({ kinds, file }: Settings, names: readonly string[]): readonly AnyKind[] {
  const known = kinds.map(({ name }) => name)
  const where = file ?? 'A looseleaf.config.ts'
  if (kinds.length === 0) {
    throw badOption(`${where} has no kinds; it needs \`kinds: [ … ]\` with results of defineKind(…).`)
  }
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw badOption(`${where} has no kind ${JSON.stringify(unknown)}; it has ${known.join(', ')}.`)
  }
  return names.length === 0 ? kinds : kinds.filter(({ name }) => names.includes(name))
}
