import { idKey } from '@looseleaf/core'
import { keyIdentity } from '@looseleaf/index-engine'
import { inspect, type DanglingRow, type WrongRows, type MissingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks } from '../tools/chunks.ts'

/** What one look said of an entity. Light: many of them may wait for the next look. */
export interface Candidate {
  readonly id: Uint8Array
  readonly version: number
  /** Rows that were missing, by shard and key. */
  readonly missing: Set<string>
  /** Stamps of dangling rows, by shard and key. */
  readonly dangling: Map<string, number>
}

export interface Confirmed {
  readonly missing: readonly MissingRow[]
  readonly dangling: readonly DanglingRow[]
  /** Entities that were written between all looks, so that nothing can be said of them. */
  readonly unsettled: readonly Uint8Array[]
}

export interface ConfirmOptions {
  /** Which kind of candidates these are; the other kind is not looked for. */
  readonly direction: 'missing' | 'dangling'
  /** Time between two looks, in milliseconds: more than a writer needs between its commit and its deletes. */
  readonly settleMs: number
}

const MAX_LOOKS = 6
const ENTITIES_AT_ONCE = 100

/**
 * What one look finds may be the work of a writer between its steps. Candidates are looked at again until two looks in
 * a row agree: a row counts as missing if it was missing twice at the same version, and as dangling if it stood there
 * twice with the same stamp although the entity was committed without it.
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
    const open = new Map<string, Candidate>()
    for (const chunk of chunks([...before.values()], ENTITIES_AT_ONCE)) {
      const ids = chunk.map(({ id }) => id)
      const now =
        direction === 'missing'
          ? await lookForMissing(pass, target, ids)
          : await lookForDangling(pass, target, ids, first)
      const seen = candidatesOf(now)
      const settled = new Set(
        chunk.filter((then) => agrees(then, seen.get(idKey(then.id)))).map(({ id }) => idKey(id)),
      )
      const isSettled = ({ entity }: { readonly entity: { readonly id: Uint8Array } }): boolean =>
        settled.has(idKey(entity.id))
      missing.push(...now.missing.filter(isSettled))
      dangling.push(...now.dangling.filter(isSettled))
      for (const [key, candidate] of seen) if (!settled.has(key)) open.set(key, candidate)
    }
    before = open
  }
  return { missing, dangling, unsettled: [...before.values()].map(({ id }) => id) }
}

/** True where everything that is wrong now was so before. */
function agrees(then: Candidate, now: Candidate | undefined): boolean {
  if (now === undefined) return true
  const sameVersion = then.version === now.version
  for (const place of now.missing) if (!sameVersion || !then.missing.has(place)) return false
  for (const [place, stamp] of now.dangling) {
    if (then.dangling.get(place) !== stamp) return false
    // Stamped later than the entity was then: its writer may have committed it since, and lost it again.
    if (!sameVersion && stamp > then.version) return false
  }
  return true
}

async function lookForMissing(
  pass: Pass,
  target: IndexTarget,
  ids: readonly Uint8Array[],
): Promise<WrongRows> {
  const { missing } = await inspect(pass, [target], await readDerived(pass, [target], ids), {
    everywhere: false,
  })
  return { missing, outdated: [], dangling: [] }
}

/** Only the rows that were found first: others are found, and counted, where the pass comes upon them. */
async function lookForDangling(
  pass: Pass,
  target: IndexTarget,
  ids: readonly Uint8Array[],
  first: ReadonlyMap<string, Candidate>,
): Promise<WrongRows> {
  const { dangling } = await inspect(pass, [target], await readDerived(pass, [target], ids), {
    everywhere: true,
  })
  return {
    missing: [],
    outdated: [],
    dangling: dangling.filter((row) => first.get(idKey(row.entity.id))?.dangling.has(placeOfDangling(row))),
  }
}

/** Gathers what a look found by entity. */
export function candidatesOf(wrong: Partial<WrongRows>): Map<string, Candidate> {
  const candidates = new Map<string, Candidate>()
  const of = ({ id, version }: { readonly id: Uint8Array; readonly version: number }): Candidate => {
    const key = idKey(id)
    let candidate = candidates.get(key)
    if (candidate === undefined) {
      candidate = { id, version, missing: new Set(), dangling: new Map() }
      candidates.set(key, candidate)
    }
    return candidate
  }
  for (const { entity, row } of wrong.missing ?? []) of(entity).missing.add(`${row.shard}/${row.identity}`)
  for (const found of wrong.dangling ?? []) {
    of(found.entity).dangling.set(placeOfDangling(found), found.row.version)
  }
  return candidates
}

function placeOfDangling({ shard, row }: DanglingRow): string {
  return `${shard}/${keyIdentity(row.key)}`
}

/** Adds what another part of a look found. */
export function mergeCandidates(
  candidates: Map<string, Candidate>,
  more: ReadonlyMap<string, Candidate>,
): void {
  for (const [key, candidate] of more) {
    const known = candidates.get(key)
    // Of two different versions neither says more than the next look will.
    if (known === undefined || known.version !== candidate.version) candidates.set(key, candidate)
    else {
      for (const place of candidate.missing) known.missing.add(place)
      for (const [place, stamp] of candidate.dangling) known.dangling.set(place, stamp)
    }
  }
}
