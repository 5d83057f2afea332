import { checkIndex } from '@looseleaf/cleaner'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import type { Session } from '../session.ts'
import { counted } from '../text.ts'

/** Entities that share a key of a unique index, a line each. */
export async function listViolations({ output, signal, store }: Session, name: string): Promise<ExitCode> {
  const found: { readonly entity: string; readonly holder: string }[] = []
  await checkIndex(await store(), name, {
    signal,
    onProblem({ kind, entity, holder }) {
      if (kind === 'duplicate' && holder !== undefined) found.push({ entity, holder })
    },
  })
  output.result({ violations: found }, () =>
    found.length === 0
      ? `No entities share a key of ${name}.`
      : output.table(
          ['ENTITY', 'HAS A KEY OF'],
          found.map(({ entity, holder }) => [entity, holder]),
        ),
  )
  if (found.length > 0) {
    output.note(
      `${counted(found.length, 'entity has', 'entities have')} a key that another has claimed. Change or delete one of the two each time, then run: looseleaf clean --index ${name}`,
    )
  }
  return found.length === 0 ? exitCodes.ok : exitCodes.found
}
