import { signatureOf } from '../indexes.ts'
import {
  createSupersession,
  prefixMaximum,
  suffixMinimum,
  type EntityHistory,
  type Write,
} from './entity-history.ts'
import type { SightRecord } from './records.ts'

/** A state that is known to have been committed. */
interface KnownState {
  readonly version: number
  readonly by: number
}

type LivingSight = SightRecord & { readonly by: number }
type VersionedSight = LivingSight & { readonly version: number }

export interface EntityCheckOptions {
  /**
   * Servers crash during this history.
   *
   * A reader sees a commit shortly before it is on disk. If the server crashes then, the commit is undone and
   * its writer retries with another version. So an observed version binds a history with crashes only if that
   * version was acknowledged.
   */
  readonly serversCrash?: boolean | undefined
}

/**
 * Compares everything that was reported about one entity with a register. Versions order its states. A state
 * is visible neither before its write was called nor after it was replaced.
 */
export function checkEntity(
  history: EntityHistory,
  { serversCrash = false }: EntityCheckOptions = {},
): string[] {
  const { id, writes } = history
  const wrongs: string[] = []
  const say = (what: string): void => {
    wrongs.push(`${id}: ${what}`)
  }
  const byNumber = new Map(writes.map((write) => [write.number, write]))
  const living = history.sights.filter((sight): sight is LivingSight => sight.by !== undefined)
  const versioned = living.filter((sight): sight is VersionedSight => sight.version !== undefined)
  const absent = history.sights.filter(({ by }) => by === undefined)
  const acknowledged = writes.filter(
    (write): write is Write & { version: number } =>
      write.outcome === 'acknowledged' && write.version !== undefined,
  )
  const binding = versioned.filter(({ by, version }) => {
    const write = byNumber.get(by)
    return !serversCrash || (write?.outcome === 'acknowledged' && write.version === version)
  })
  const known = knownStates(acknowledged, binding, say)
  const supersession = createSupersession(writes)

  checkOrderOfWrites(acknowledged, say)
  checkSteps(known, byNumber, supersession.of, say)

  const newestAcknowledged = prefixMaximum(acknowledged.map(({ end, version }) => ({ end, value: version })))
  const newestSeen = prefixMaximum(binding.map(({ end, version }) => ({ end, value: version })))
  const gone = serversCrash ? [] : absent
  const goneAfter = suffixMinimum(gone.map(({ start, end }) => ({ at: start, end })))
  for (const sight of living) {
    const write = byNumber.get(sight.by)
    // A list reports no versions.
    const { version = Infinity } = sight
    const what = `a read gave ${sight.version === undefined ? '' : `version ${sight.version} of `}operation ${sight.by}`
    if (write === undefined || write.content === null) {
      say(`${what}, which never wrote it`)
      continue
    }
    if (write.outcome === 'failed') say(`${what}, which was reported as failed`)
    if (sight.content !== undefined && signatureOf(sight.content) !== signatureOf(write.content))
      say(`${what}, with another content than it wrote`)
    if (write.start > sight.end) say(`${what}, which was only called afterwards`)
    if (!serversCrash && write.version !== undefined && write.version > version)
      say(`${what}, which was acknowledged with version ${write.version}`)
    if (newestAcknowledged(sight.start) > version)
      say(`${what}; ${newestAcknowledged(sight.start)} was acknowledged before the call began`)
    else if (newestSeen(sight.start) > version)
      say(`${what}; ${newestSeen(sight.start)} was seen before the call began`)
    else if (supersession.of(write) < sight.start) say(`${what}; it had been replaced before the call began`)
    else if (write.outcome === 'acknowledged' && goneAfter(write.end) < sight.start)
      say(`${what}; it had been seen deleted before the call began`)
  }

  const aliveSeen = prefixMaximum(
    (serversCrash ? binding : living).map(({ start, end }) => ({ end, value: start })),
  )
  const deletes = writes.filter(({ content, outcome }) => content === null && outcome !== 'failed')
  const deleteOver = new Map(deletes.map((write) => [write, supersession.of(write)]))
  for (const sight of absent) {
    const lastAlive = aliveSeen(sight.start)
    const initially = lastAlive === -Infinity && supersession.ofNothing >= sight.start
    const deleted = (write: Write): boolean =>
      write.start <= sight.end &&
      (deleteOver.get(write) ?? 0) >= sight.start &&
      (write.outcome === 'unknown' || write.end >= lastAlive)
    if (!initially && !deletes.some(deleted)) say('a read gave nothing, though it was there all the time')
  }
  return wrongs
}

/** Maps each version to its state. Reports two operations that claim the same version. */
function knownStates(
  acknowledged: readonly (Write & { version: number })[],
  versioned: readonly VersionedSight[],
  say: (what: string) => void,
): readonly KnownState[] {
  const states = new Map<number, number>()
  const claims = [
    ...acknowledged.map(({ version, number }) => ({ version, by: number })),
    ...versioned.map(({ version, by }) => ({ version, by })),
  ]
  for (const { version, by } of claims) {
    const other = states.get(version)
    if (other !== undefined && other !== by) say(`operations ${other} and ${by} share version ${version}`)
    else states.set(version, by)
  }
  return [...states].map(([version, by]) => ({ version, by })).toSorted((a, b) => a.version - b.version)
}

/** A write that was answered before another one was called has the lower version. */
function checkOrderOfWrites(
  acknowledged: readonly (Write & { version: number })[],
  say: (what: string) => void,
): void {
  const newest = prefixMaximum(acknowledged.map(({ end, version }) => ({ end, value: version })))
  for (const { start, version, number } of acknowledged) {
    if (newest(start) >= version)
      say(
        `operation ${number} got version ${version}; ${newest(start)} was acknowledged before the call began`,
      )
  }
}

/** Each state follows from its predecessor: no update is lost, and a replaced state does not come back. */
function checkSteps(
  known: readonly KnownState[],
  byNumber: ReadonlyMap<number, Write>,
  overAt: (write: Write) => number,
  say: (what: string) => void,
): void {
  const seen = new Set<number>()
  const everKnown = new Set(known.map(({ by }) => by))
  for (const [place, { version, by }] of known.entries()) {
    const before = known[place - 1]
    // The cleaner raises versions without changing the state, so consecutive versions may share a state.
    if (before?.by === by) continue
    if (seen.has(by)) say(`operation ${by} came back as version ${version} after it had been replaced`)
    seen.add(by)
    const write = byNumber.get(by)
    if (write === undefined) continue
    if (write.base !== undefined && before !== undefined && before.version > write.base)
      say(`operation ${by} replaced version ${write.base}, though ${before.version} came between`)
    if (write.previous === undefined) continue
    const previous = byNumber.get(write.previous)
    if (everKnown.has(write.previous) && before !== undefined && before.by !== write.previous)
      say(`operation ${by} updated ${write.previous}, though ${before.by} came between: a lost update`)
    if (previous !== undefined && overAt(previous) < write.start)
      say(`operation ${by} updated ${write.previous}, which had been replaced before the call began`)
  }
}
