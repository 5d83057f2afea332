import { grouped } from '@looseleaf/core/internal'
import type { Output } from '../output/output.ts'
import { timeText } from '../output/text.ts'
import type { KindNearness } from './near-record.ts'

/** Returns a count with its share, such as `1,200 (99.7%)`. Only a whole share is shown as 100%. */
export function nearShare(part: number, whole: number): string {
  if (whole === 0) return grouped(part)
  const tenths = Math.floor((part / whole) * 1000)
  return `${grouped(part)} (${part === whole ? 100 : tenths / 10}%)`
}

export function nearJson({ kind, near, counts }: KindNearness): unknown {
  const { near: _, ...numbers } = counts ?? {}
  return { kind, near, counts: counts === undefined ? null : numbers }
}

export function nearTable(output: Output, kinds: readonly KindNearness[]): string {
  return output.table(
    ['KIND', 'NEAR', 'ENTITIES', 'AT PLACE', 'ELSEWHERE', 'CHECKED'],
    kinds.map(({ kind, near, counts }) =>
      counts === undefined
        ? [kind, near, '?', '?', '?', 'never: looseleaf kind check']
        : [
            kind,
            near,
            grouped(counts.entities),
            nearShare(counts.atPlace, counts.entities),
            grouped(counts.elsewhere),
            timeText(counts.checkedAt),
          ],
    ),
  )
}
