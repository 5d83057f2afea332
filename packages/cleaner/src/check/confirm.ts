import { chunks, idKey } from '@looseleaf/core/internal'
import { keyIdentity } from '@looseleaf/index-engine/internal'
import { inspect, type DanglingRow, type WrongRows, type MissingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/** Findings of one look at an entity. Small, because many of them wait for the next look. */
export interface Candidate {
  readonly id: Uint8Array
  readonly version: number
  /** Rows that were missing, by shard and key. */
  readonly missing: Set<string>
  /** Stamps of dangling rows, by shard and key. */
  readonly dangling: Map<string, number>
}

/** Findings of a look at some entities. */
type Findings = Pick<WrongRows, 'missing' | 'dangling'>

export interface Confirmed {
  readonly missing: readonly MissingRow[]
  readonly dangling: readonly DanglingRow[]
  /** Entities that were written between all looks, so their rows could not be judged. */
  readonly unsettled: readonly Uint8Array[]
}

export interface ConfirmOptions {
  /** Kind of these candidates; the looks ignore the other kind. */
  readonly direction: 'missing' | 'dangling'
  /** Milliseconds between two looks. Must exceed the time that a writer needs from its commit to its deletes. */
  readonly settleMs: number
}

const MAX_LOOKS = 6
const ENTITIES_AT_ONCE = 100

/**
 * Looks at candidates again until two looks in a row agree, because a single look may catch a writer between its steps. A row counts as
 * missing if two looks missed it at the same version. It counts as dangling if two looks found it with the same stamp while the committed
 * entity did not have it.
 */
export async function confirm(
  pass: Pass,
  target: IndexTarget,
  first: ReadonlyMap<string, Candidate>,
  { direction, settleMs }: ConfirmOptions,
): Promise<Confirmed> {
  const missing: MissingRow[] = []
  const dangling: DanglingRow[] = []
  let before = first
  for (let look = 1; before.size > 0 && look < MAX_LOOKS; look++) {
    await pass.time.sleep(settleMs, pass.signal)
    const unsettled = new Map<string, Candidate>()
    for (const chunk of chunks([...before.values()], ENTITIES_AT_ONCE)) {
      const ids = chunk.map(({ id }) => id)
      const wrong = await lookAgain(pass, target, ids, direction, first)
      const found = candidatesOf(wrong)
      const settled = new Set(
        chunk.filter((earlier) => agrees(earlier, found.get(idKey(earlier.id)))).map(({ id }) => idKey(id)),
      )
      const isSettled = ({ entity }: { readonly entity: { readonly id: Uint8Array } }): boolean =>
        settled.has(idKey(entity.id))
      missing.push(...wrong.missing.filter(isSettled))
      dangling.push(...wrong.dangling.filter(isSettled))
      for (const [key, candidate] of found) if (!settled.has(key)) unsettled.set(key, candidate)
    }
    before = unsettled
  }
  return { missing, dangling, unsettled: [...before.values()].map(({ id }) => id) }
}

/** Tells whether the earlier look had already found everything that is wrong now. */
function agrees(earlier: Candidate, later: Candidate | undefined): boolean {
  if (later === undefined) return true
  const sameVersion = earlier.version === later.version
  for (const place of later.missing) if (!sameVersion || !earlier.missing.has(place)) return false
  for (const [place, stamp] of later.dangling) {
    if (earlier.dangling.get(place) !== stamp) return false
    // The stamp is later than the version of the earlier look, so the row may have been committed and lost again in between.
    if (!sameVersion && stamp > earlier.version) return false
  }
  return true
}

/** Looks for dangling rows only among those of the first look. The pass finds and counts others when it reaches them. */
async function lookAgain(
  pass: Pass,
  target: IndexTarget,
  ids: readonly Uint8Array[],
  direction: ConfirmOptions['direction'],
  first: ReadonlyMap<string, Candidate>,
): Promise<Findings> {
  const entities = await readDerived(pass, [target], ids)
  const everywhere = direction === 'dangling'
  const { missing, dangling } = await inspect(pass, [target], entities, { everywhere })
  if (!everywhere) return { missing, dangling: [] }
  const known = dangling.filter((row) => first.get(idKey(row.entity.id))?.dangling.has(placeOfDangling(row)))
  return { missing: [], dangling: known }
}

/** Groups the findings of a look by entity. */
export function candidatesOf(wrong: Partial<Findings>): Map<string, Candidate> {
  const candidates = new Map<string, Candidate>()
  const candidateOf = ({ id, version }: { readonly id: Uint8Array; readonly version: number }): Candidate => {
    const key = idKey(id)
    let candidate = candidates.get(key)
    if (candidate === undefined) {
      candidate = { id, version, missing: new Set(), dangling: new Map() }
      candidates.set(key, candidate)
    }
    return candidate
  }
  for (const { entity, row } of wrong.missing ?? [])
    candidateOf(entity).missing.add(`${row.shard}/${row.identity}`)
  for (const found of wrong.dangling ?? []) {
    candidateOf(found.entity).dangling.set(placeOfDangling(found), found.row.version)
  }
  return candidates
}

function placeOfDangling({ shard, row }: DanglingRow): string {
  return `${shard}/${keyIdentity(row.key)}`
}

/** Adds the findings of another part of the same look. */
export function mergeCandidates(
  candidates: Map<string, Candidate>,
  more: ReadonlyMap<string, Candidate>,
): void {
  for (const [key, candidate] of more) {
    const known = candidates.get(key)
    // Findings at two versions cannot be combined; the next look decides.
    if (known === undefined || known.version !== candidate.version) candidates.set(key, candidate)
    else {
      for (const place of candidate.missing) known.missing.add(place)
      for (const [place, stamp] of candidate.dangling) known.dangling.set(place, stamp)
    }
  }
}
