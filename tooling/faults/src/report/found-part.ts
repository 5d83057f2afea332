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

By these runs and by the tests that they go with, before the first release. This list is kept by hand; a test sees to it
that the tests it names exist.

${markdownTable([left('what was wrong'), left('what holds now'), left('held by')], rows)}`
}
