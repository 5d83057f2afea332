import { found } from '../found.ts'
import { markdownTable } from '../markdown-table.ts'
import { left } from './format.ts'

export function foundPart(): string {
  const rows = found.map(({ wrong, now, heldBy }) => [
    wrong,
    now,
    heldBy === undefined ? '' : `\`${heldBy.file}\`: "${heldBy.name}"`,
  ])
  return `## Found and fixed on the way

These runs and their tests found the following mistakes before the first release. The list is maintained by hand; a test checks that
the named tests exist.

${markdownTable([left('mistake'), left('behaviour now'), left('guarded by')], rows)}`
}
