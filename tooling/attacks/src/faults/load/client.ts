import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError, metaOf, type Bag } from '@looseleaf/core'
import type { ReplicaReadOptions } from '@looseleaf/core/internal'
import type { DataStore, PutResult } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import { moment, type Recorder } from '../../lab/records.ts'
import type { EndRecord, HistoryRecord, SightRecord } from '../history/records.ts'
import { GROUPS, isGrey, matches, TAGS, textOfRequest, TIMES, type Content } from '../indexes.ts'
import { ask, chooseRequest, type FoundEntity } from './ask.ts'
import type { NearEntities } from './near-entities.ts'

export interface ClientOptions {
  readonly store: DataStore
  readonly random: Random
  readonly recorder: Recorder<HistoryRecord>
  readonly hot: readonly string[]
  readonly cold: readonly string[]
  readonly near: NearEntities
  readonly largeBodies: number
  readonly restMs: number
  /** True if half of all reads go to replicas. */
  readonly isReplicated: boolean
  /** Returns the number of the next operation; undefined when the work is done. */
  readonly next: () => number | undefined
}

/** More bytes than the driver sends as text. */
const LARGE_BYTES = 80_000
/** Pause after an error, so that callers do not flood a shard that is down. */
const AFTER_ERROR_MS = 20

/** Staleness bounds in milliseconds. */
const BOUNDS_MS = [300, 1_000, 3_000]
/** Staleness bound of reads with a token. */
const ANY_AGE_MS = 60_000

/** Source of a read, and the greatest age of its data in microseconds. */
interface Source {
  /** Options of a call that begins now. */
  readonly options: () => ReplicaReadOptions
  readonly old: number
}

type Answer = Pick<EndRecord, 'outcome' | 'version' | 'previous' | 'base' | 'code' | 'indexed'>

/** Runs one caller: sequential calls, each recorded. */
export async function runClient(options: ClientOptions): Promise<void> {
  for (let number = options.next(); number !== undefined; number = options.next()) {
    const failed = await perform(options, number)
    const rest = failed ? AFTER_ERROR_MS : options.restMs
    if (rest > 0) await sleep(rest)
  }
}

async function perform(options: ClientOptions, number: number): Promise<boolean> {
  const { random, hot, cold } = options
  const id = random.chance(0.7) ? random.pick(hot) : random.pick(cold)
  const chosen = random.next()
  if (chosen < 0.22) return put(options, number, id)
  if (chosen < 0.28) return insert(options, number, id)
  if (chosen < 0.42) return update(options, number, id)
  if (chosen < 0.48) return swap(options, number, id)
  if (chosen < 0.56)
    return staysInAGroup(options, id) ? put(options, number, id) : remove(options, number, id)
  if (chosen < 0.76) return get(options, [id])
  if (chosen < 0.8) return get(options, [id, random.pick(hot), random.pick(cold)])
  return query(options)
}

/**
 * Tells whether the entity is always in some group, which holds for every other hot one. Queries over all
 * groups must always find it.
 */
function staysInAGroup({ hot }: ClientOptions, id: string): boolean {
  return hot.indexOf(id) % 2 === 1
}

function contentOf(options: ClientOptions, id: string): Content {
  const { random, near } = options
  const isLocal = near.ids.has(id) && random.chance(0.85)
  const { groups, tags } = isLocal ? near : { groups: GROUPS, tags: TAGS }
  return {
    group: !staysInAGroup(options, id) && random.chance(0.15) ? null : random.pick(groups),
    tags: tags.filter(() => random.chance(0.35)),
    at: random.pick(TIMES),
  }
}

function bagOf({ random, largeBodies }: ClientOptions, number: number, content: Content): Bag {
  const { group, tags, at } = content
  const large = random.chance(largeBodies)
  return {
    by: number,
    group,
    tags: [...tags],
    at: new Date(at),
    grey: isGrey(content),
    ...(large && { pad: padding(random) }),
  }
}

/** Returns incompressible bytes. */
function padding(random: Random): Uint8Array {
  const bytes = new Uint8Array(LARGE_BYTES)
  for (let i = 0; i < bytes.length; i++) bytes[i] = random.below(256)
  return bytes
}

function put(options: ClientOptions, number: number, id: string): Promise<boolean> {
  const content = contentOf(options, id)
  const bag = bagOf(options, number, content)
  return write(options, number, id, content, async () => {
    return acknowledged(await options.store.put(bag, { id }))
  })
}

function insert(options: ClientOptions, number: number, id: string): Promise<boolean> {
  const content = contentOf(options, id)
  const bag = bagOf(options, number, content)
  return write(options, number, id, content, async () => {
    return acknowledged(await options.store.insert(bag, { id }))
  })
}

function update(options: ClientOptions, number: number, id: string): Promise<boolean> {
  const content = contentOf(options, id)
  const bag = bagOf(options, number, content)
  return write(options, number, id, content, async () => {
    let previous = 0
    const result = await options.store.update(id, (before) => {
      previous = Number(before['by'])
      return { ...bag, previous }
    })
    return { ...acknowledged(result), previous }
  })
}

/** Reads an entity and writes it on condition of the version read. */
async function swap(options: ClientOptions, number: number, id: string): Promise<boolean> {
  const start = moment()
  let base: number
  try {
    const found = await options.store.get(id)
    recordSight(options, id, { start, old: 0 }, found)
    base = found === undefined ? 0 : (metaOf(found)?.version ?? 0)
  } catch (error) {
    return recordError(options, start, error)
  }
  const content = contentOf(options, id)
  const bag = bagOf(options, number, content)
  return write(options, number, id, content, async () => {
    const result = await options.store.put(bag, { id, ifVersion: base })
    // Version 0 means "no entity", which includes a tombstone of any version.
    return { ...acknowledged(result), ...(base > 0 && { base }) }
  })
}

function acknowledged({ version, indexed }: PutResult): Answer {
  return { outcome: 'acknowledged', version, ...(!indexed && { indexed }) }
}

function remove(options: ClientOptions, number: number, id: string): Promise<boolean> {
  const start = moment()
  return write(options, number, id, null, async () => {
    const was = await options.store.delete(id)
    if (was) return { outcome: 'acknowledged' }
    options.recorder.write({ kind: 'sight', id, start, end: moment() })
    return { outcome: 'failed' }
  })
}

async function write(
  { recorder }: ClientOptions,
  number: number,
  id: string,
  content: Content | null,
  send: () => Promise<Answer>,
): Promise<boolean> {
  const start = moment()
  recorder.write({ kind: 'begin', number, id, at: start, content })
  let answer: Answer
  let failed = false
  try {
    answer = await send()
  } catch (error) {
    const code = codeOf(error)
    // Answers about the entity are expected; other codes are failures.
    failed = !['ALREADY_EXISTS', 'NOT_FOUND', 'VERSION_MISMATCH', 'CONFLICT'].includes(code)
    if (code === 'NOT_FOUND') recorder.write({ kind: 'sight', id, start, end: moment() })
    if (!isLooseleafError(error)) recorder.write({ kind: 'wrong', message: `A write threw ${String(error)}` })
    const unknown = !isLooseleafError(error) || error.unknownOutcome || code === 'ABORTED'
    answer = { outcome: unknown ? 'unknown' : 'failed', ...(failed && { code }) }
  }
  recorder.write({ kind: 'end', number, at: moment(), ...answer })
  return failed
}

/** A token covers all writes that were acknowledged when it was made. */
function sourceOf({ store, random, isReplicated }: ClientOptions): Source {
  if (!isReplicated || random.chance(0.5)) return { options: () => ({}), old: 0 }
  if (random.chance(0.3)) {
    const options = (): ReplicaReadOptions => ({
      from: 'replica',
      maxStalenessMs: ANY_AGE_MS,
      after: store.sessionToken(),
    })
    return { options, old: 0 }
  }
  const maxStalenessMs = random.pick(BOUNDS_MS)
  return { options: () => ({ from: 'replica', maxStalenessMs }), old: maxStalenessMs * 1_000 }
}

async function get(options: ClientOptions, ids: readonly string[]): Promise<boolean> {
  const start = moment()
  const { options: where, old } = sourceOf(options)
  try {
    const found = await options.store.getMany(ids, where())
    for (const [i, id] of ids.entries()) recordSight(options, id, { start, old }, found[i])
    return false
  } catch (error) {
    return recordError(options, start, error)
  }
}

async function query(options: ClientOptions): Promise<boolean> {
  const { store, random, recorder } = options
  const request = chooseRequest(random)
  const called = moment()
  const { options: where, old } = sourceOf(options)
  try {
    const { found, complete, start, fromReplicas } = await ask(store, request, random, where)
    const end = moment()
    const ids = found.map((entity) => entity.id)
    if (new Set(ids).size < ids.length)
      recorder.write({ kind: 'wrong', message: `a query ${textOfRequest(request)} gave an entity twice` })
    for (const entity of found) {
      if (!matches(request, contentIn(entity)))
        recorder.write({ kind: 'wrong', message: `${entity.id}: a query gave it, though it does not match` })
      recordSight(options, entity.id, { start, old }, entity, true)
    }
    const how = { ...(!complete && { complete }), ...(fromReplicas && { fromReplicas }) }
    recorder.write({ kind: 'query', ...since({ start, old }), end, request, found: ids, ...how })
    return false
  } catch (error) {
    return recordError(options, called, error)
  }
}

/** Records a call as a sight of a state that was current at some time since then. */
interface Called {
  readonly start: number
  readonly old: number
}

function since({ start, old }: Called): Pick<SightRecord, 'start' | 'called'> {
  return old === 0 ? { start } : { start: start - old, called: start }
}

function recordSight(
  { recorder }: ClientOptions,
  id: string,
  called: Called,
  found: FoundEntity | undefined,
  inQuery = false,
): void {
  const end = moment()
  const nothing: SightRecord = { kind: 'sight', id, ...since(called), end }
  recorder.write(
    found === undefined
      ? nothing
      : {
          ...nothing,
          version: metaOf(found)?.version,
          by: Number(found['by']),
          content: contentIn(found),
          ...(inQuery && { inQuery }),
          ...(found['previous'] !== undefined && { previous: Number(found['previous']) }),
        },
  )
}

/** Returns the content of a bag that this load wrote. */
export function contentIn(bag: Bag): Content {
  return {
    group: bag['group'] as string | null,
    tags: bag['tags'] as readonly string[],
    at: (bag['at'] as Date).toISOString(),
  }
}

function recordError({ recorder }: ClientOptions, start: number, error: unknown): true {
  const code = codeOf(error)
  if (!isLooseleafError(error)) recorder.write({ kind: 'wrong', message: `A read threw ${String(error)}` })
  recorder.write({ kind: 'error', start, end: moment(), code })
  return true
}

function codeOf(error: unknown): string {
  return isLooseleafError(error) ? error.code : 'none'
}
