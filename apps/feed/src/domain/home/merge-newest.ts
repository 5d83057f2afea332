import { comparePlaces, type HomeRow } from './home-list.ts'

/** The properties of a row that decide its place. */
type Row = Pick<HomeRow, 'arrived' | 'entry_id'>

/** The rest of a list, from its first row that is not merged yet. */
interface Rest<R> {
  readonly rows: readonly R[]
  at: number
}

/** Merges lists, each newest first, into one of at most so many rows. Looks only at rows of the result, and at one more of each list. */
export function mergeNewest<R extends Row>(lists: readonly (readonly R[])[], limit: number): readonly R[] {
  // A heap: no rest begins with a newer row than its parent, the one at half of its place.
  const heap: Rest<R>[] = lists
    .filter((rows) => rows.length > 0)
    .map((rows) => ({ rows, at: 0 }))
    .toSorted(compareRests)
  const merged: R[] = []
  while (heap.length > 0 && merged.length < limit) {
    const first = heap[0]!
    merged.push(first.rows[first.at++]!)
    if (first.at === first.rows.length) {
      const last = heap.pop()!
      if (heap.length > 0) heap[0] = last
    }
    sinkFirst(heap)
  }
  return merged
}

/** Moves the first rest down to its place. */
function sinkFirst<R extends Row>(heap: Rest<R>[]): void {
  for (let at = 0; ;) {
    const left = 2 * at + 1
    if (left >= heap.length) return
    const right = left + 1
    const child = right < heap.length && compareRests(heap[right]!, heap[left]!) < 0 ? right : left
    if (compareRests(heap[at]!, heap[child]!) <= 0) return
    ;[heap[at], heap[child]] = [heap[child]!, heap[at]!]
    at = child
  }
}

function compareRests<R extends Row>(a: Rest<R>, b: Rest<R>): number {
  return comparePlaces(placeOf(a), placeOf(b))
}

function placeOf<R extends Row>({ rows, at }: Rest<R>): { readonly time: number; readonly id: string } {
  const row = rows[at]!
  return { time: row.arrived.getTime(), id: row.entry_id }
}
