import { MAX_LEASE_MS, type CallOptions, type TaskState, type TaskTable } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { toCount, toNumber, toText } from './row-values.ts'
import { TASK_TABLE } from './schema.ts'
import type { Call, FaultCodes, Row, Session } from './session.ts'
import { slot, slots } from './sql-parts.ts'

const tasks = sql.table(TASK_TABLE)

const faults: FaultCodes = {
  'no-table': ['NOT_MIGRATED', 'the task table is missing; create the tables first.'],
}

interface StoredTask {
  readonly name: string
  readonly progress: string
  /** Who has taken it last and not given it up. */
  readonly owner: string | undefined
  /** False once its lease is over, and where a clock that was ahead has given it. */
  readonly isHeld: boolean
}

/** Tasks of one statement. */
const MAX_NAMES = 100

/** A lease that ends later than this from now was given by a clock that was ahead, in µs. */
const AHEAD_MICROS = 2 * MAX_LEASE_MS * 1_000

/** Leases are kept in µs since 1970 by the database's clock, so that the clocks of its clients do not matter. */
export function createTaskTable(session: Session, flavor: Flavor): TaskTable {
  const now = flavor.nowMicros
  const runs = sql`lease_until > ${now} AND lease_until <= ${now} + ${sql.lit(AHEAD_MICROS)}`

  /** Parameters: names. */
  const load = (count: number): RawBuilder<unknown> => sql`
    SELECT name, progress, owner, ${runs} AS held FROM ${tasks} WHERE name IN (${slots(count)})`
  /** Parameters: owner, lease, names, owner. */
  const take = (count: number): RawBuilder<unknown> => sql`
    UPDATE ${flavor.updateSource(tasks, 'PRIMARY')} SET owner = ${slot}, lease_until = ${now} + ${slot}
    WHERE name IN (${slots(count)}) AND (owner = ${slot} OR owner IS NULL OR NOT (${runs}))`
  /** One that another has created meanwhile stays as it is. Parameters: of each name the name, owner and lease. */
  const create = (count: number): RawBuilder<unknown> => {
    const row = sql`(${slot}, '', ${slot}, ${now} + ${slot})`
    return sql`
      INSERT INTO ${tasks} (name, progress, owner, lease_until) VALUES ${sql.join(Array.from({ length: count }, () => row))}
      ${flavor.onDuplicate(['name'])} owner = ${sql.ref(`${TASK_TABLE}.owner`)}`
  }
  /** Parameters: of each name the name and its progress; owner, lease; names, owner. */
  const save = (count: number): RawBuilder<unknown> => {
    const each = Array.from({ length: count }, () => sql`WHEN ${slot} THEN ${slot}`)
    return sql`
      UPDATE ${flavor.updateSource(tasks, 'PRIMARY')} SET progress = CASE name ${sql.join(each, sql` `)} END, owner = ${slot}, lease_until = ${now} + ${slot}
      WHERE name IN (${slots(count)}) AND owner = ${slot}`
  }
  const statements = { load, take, create, save }

  const run = async (
    kind: keyof typeof statements,
    count: number,
    parameters: readonly unknown[],
    options: CallOptions | undefined,
  ): Promise<{ readonly rows: readonly Row[]; readonly changed: number }> => {
    const call: Call = { write: kind !== 'load', signal: options?.signal, faults }
    const shape = session.shape(`task ${kind} ${count}`, () => statements[kind](count))
    const { rows, numAffectedRows } = await session.run(shape, parameters, call)
    return { rows, changed: toCount(numAffectedRows) }
  }

  async function read(
    names: readonly string[],
    options: CallOptions | undefined,
  ): Promise<readonly StoredTask[]> {
    const { rows } = await run('load', names.length, names, options)
    return rows.map((row) => ({
      name: toText(row.name),
      progress: toText(row.progress),
      owner: row.owner === null ? undefined : toText(row.owner),
      isHeld: row.owner !== null && toNumber(row.held) === 1,
    }))
  }

  async function claimSome(
    names: readonly string[],
    owner: string,
    leaseMs: number,
    options: CallOptions | undefined,
  ): Promise<readonly StoredTask[]> {
    const micros = leaseMs * 1000
    const { changed } = await run('take', names.length, [owner, micros, ...names, owner], options)
    let there = await read(names, options)
    if (there.length < names.length && changed < names.length) {
      const known = new Set(there.map(({ name }) => name))
      const missing = names.filter((name) => !known.has(name))
      const rows = missing.flatMap<unknown>((name) => [name, owner, micros])
      await run('create', missing.length, rows, options)
      there = await read(names, options)
    }
    // However short the lease was: as long as nobody else has taken it, it is the owner's.
    return there.filter((task) => task.owner === owner)
  }

  async function saveSome(
    progress: ReadonlyMap<string, string>,
    owner: string,
    leaseMs: number,
    options: CallOptions | undefined,
  ): Promise<readonly string[]> {
    const names = [...progress.keys()]
    const next = leaseMs === 0 ? undefined : owner
    const parameters = [...[...progress].flat(), next ?? null, leaseMs * 1000, ...names, owner]
    const { changed } = await run('save', names.length, parameters, options)
    if (changed === names.length) return names
    if (changed === 0) return []
    const there = await read(names, options)
    return there
      .filter((task) => task.owner === next && task.progress === progress.get(task.name))
      .map(({ name }) => name)
  }

  const loadAll: TaskTable['loadAll'] = async (names, options) => {
    const parts = await Promise.all(inParts(names).map((part) => read(part, options)))
    return new Map(
      parts
        .flat()
        .map(({ name, progress, owner, isHeld }) => [name, { progress, owner: isHeld ? owner : undefined }]),
    )
  }

  const claimAll: TaskTable['claimAll'] = async (names, owner, leaseMs, options) => {
    const claimed = new Map<string, TaskState>()
    for (const part of inParts(names)) {
      for (const { name, progress } of await claimSome(part, owner, leaseMs, options))
        claimed.set(name, { progress, owner })
    }
    return claimed
  }

  const saveAll: TaskTable['saveAll'] = async (progress, owner, leaseMs, options) => {
    const saved = new Set<string>()
    for (const part of inParts([...progress.keys()])) {
      const some = new Map(part.map((name) => [name, progress.get(name) as string]))
      for (const name of await saveSome(some, owner, leaseMs, options)) saved.add(name)
    }
    return saved
  }

  return {
    loadAll,
    claimAll,
    saveAll,
    load: async (name, options) => (await loadAll([name], options)).get(name),
    claim: async (name, owner, leaseMs, options) =>
      (await claimAll([name], owner, leaseMs, options)).get(name),
    save: async (name, owner, progress, leaseMs, options) =>
      (await saveAll(new Map([[name, progress]]), owner, leaseMs, options)).has(name),
  }
}

/** Names, each once and in one order, so that no two statements lock each other out; in parts of one statement. */
function inParts(names: readonly string[]): readonly (readonly string[])[] {
  const sorted = [...new Set(names)].toSorted()
  return Array.from({ length: Math.ceil(sorted.length / MAX_NAMES) }, (_, i) =>
    sorted.slice(i * MAX_NAMES, (i + 1) * MAX_NAMES),
  )
}
