import type { EntityInsert, EntityReplace } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { epoch, freshBench, newEntity } from '../../test/bench.ts'
import { expectTimeRanges, selectsThrough } from '../../test/sent-statements.ts'

const bench = await freshBench()

const FIRST = { updated: 0, addedId: 0 }
const HOUR = 3_600_000_000

test('every kind of write has a time above a floor that is ahead of the clock', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  const [one, ...others] = Array.from({ length: 6 }, newEntity)
  await shard.entities.insert([one!, ...others.slice(0, 2)], { epoch })
  const before = await shard.entities.raiseFloor()
  // A failover to a server whose clock is behind leaves this state.
  await observer.query('UPDATE looseleaf_meta SET floor = floor + INTERVAL 1 HOUR')
  const { floor } = await shard.entities.floor()
  expect(floor).toBe(before + HOUR)
  const again = (entity: EntityInsert): EntityReplace => ({
    ...entity,
    base: entity.version,
    version: entity.version + 1,
  })
  expect(await shard.entities.replace([again(one!)], { epoch })).toEqual([true])
  expect(await shard.entities.replace(others.slice(0, 2).map(again), { epoch })).toEqual([true, true])
  await shard.entities.insert(others.slice(2, 3), { epoch })
  await shard.entities.insert(others.slice(3), { epoch })
  const until = await shard.entities.raiseFloor()
  expect(until).toBe(floor + 1)
  const after = { updated: floor, addedId: 0 }
  expect(await shard.entities.pageOfChanges({ after, until }, 10)).toHaveLength(6)
})

test('writes while the clock was ahead are below the next floor, and later writes above it', async () => {
  const { shard } = await bench.migrate()
  const observer = await bench.observe()
  const [early, late] = [newEntity(), newEntity()]
  await shard.entities.insert([early], { epoch })
  // A clock that is set right after the write leaves this state.
  await observer.query('UPDATE entities SET updated = updated + INTERVAL 1 HOUR WHERE id = ?', [early.id])
  const until = await shard.entities.raiseFloor()
  const first = (await shard.entities.pageOfChanges({ after: FIRST, until }, 100)).at(-1)!
  expect(first.id).toEqual(early.id)
  await shard.entities.insert([late], { epoch })
  const next = await shard.entities.raiseFloor()
  const rest = await shard.entities.pageOfChanges({ after: first, until: next }, 10)
  expect(rest.map(({ id }) => id)).toEqual([late.id])
  // Rows within a second of the clock are below the floor soon, without a second raise.
  expect(await shard.entities.raiseFloor()).toBe(next + 1)
})

test('a raise of the floor waits for the writes in flight, whose rows are below it', async () => {
  const { shard } = await bench.migrate()
  const writer = await bench.observe()
  const { id } = newEntity()
  await writer.query('BEGIN')
  await writer.query(
    `INSERT INTO entities (id, updated, version, body)
     SELECT ?, GREATEST(UTC_TIMESTAMP(6), floor), 1, 'x' FROM looseleaf_meta WHERE id = 1 LOCK IN SHARE MODE`,
    [id],
  )
  let isRaised = false
  const raising = shard.entities.raiseFloor().then((floor) => {
    isRaised = true
    return floor
  })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(isRaised).toBe(false)
  await writer.query('COMMIT')
  const until = await raising
  const changes = await shard.entities.pageOfChanges({ after: FIRST, until }, 100)
  expect(changes.some((row) => Buffer.compare(row.id, id) === 0)).toBe(true)
})

test('a raise that waits for a hanging write gives up soon, and the writes behind it proceed', async () => {
  const { shard } = await bench.migrate()
  const [writer, patient] = [await bench.observe(), await bench.observe()]
  const [[{ version }]] = (await writer.query('SELECT VERSION() AS version')) as unknown as [
    [{ version: string }],
  ]
  await writer.query('BEGIN')
  await writer.query('SELECT epoch FROM looseleaf_meta WHERE id = 1 LOCK IN SHARE MODE')
  const ended: string[] = []
  const ends = (name: string) => () => void ended.push(name)
  const raising = shard.entities.raiseFloor().catch((error: unknown) => error)
  // Longer than the lock wait of a raise on MariaDB, and much shorter than that of the insert behind it.
  await patient.query('SET SESSION innodb_lock_wait_timeout = 2')
  const waiting = patient.query('UPDATE looseleaf_meta SET floor = floor WHERE id = 1').catch(ends('patient'))
  await Promise.all([raising.then(ends('raise')), waiting, shard.entities.insert([newEntity()], { epoch })])
  expect(await raising).toMatchObject({ code: 'SHARD_BUSY', retryable: true })
  // MySQL has no lock wait per statement, so a raise waits as long as its session.
  if (version.includes('MariaDB')) expect(ended).toEqual(['raise', 'patient'])
  await writer.query('ROLLBACK')
  expect(await shard.entities.raiseFloor()).toBeGreaterThan(0)
})

test('a page of changes or checksums reads a range of the key, and sorts nothing', async () => {
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.migrate({}, url)
  await shard.entities.insert(Array.from({ length: 300 }, newEntity), { epoch })
  const observer = await bench.observe()
  await observer.query("UPDATE entities SET updated = '2100-01-01' + INTERVAL added_id SECOND")
  await observer.query('ANALYZE TABLE entities')
  const [newest] = await shard.entities.pageByUpdated({ since: 0 }, 1)
  const { updated, addedId } = newest!
  const sent = selectsThrough(proxy)
  const after = { updated: updated - 20_000_000, addedId: addedId - 20 }
  expect(await shard.entities.pageOfChanges({ after, until: updated }, 100)).toHaveLength(19)
  expect(await shard.entities.pageOfChanges({ after }, 100)).toHaveLength(20)
  expect(await shard.entities.pageOfChecksums({ after }, 100)).toHaveLength(20)
  expect(sent).toHaveLength(3)
  await expectTimeRanges(observer, sent)
})

test('a reader of changes up to each floor misses no write, however slow its statement was', async () => {
  const { shard } = await bench.migrate({ poolSize: 12 })
  const observer = await bench.observe()
  // The statement has set its times, and is not committed yet.
  for (const event of ['INSERT', 'UPDATE'])
    await observer.query(
      `CREATE TRIGGER slow_${event.toLowerCase()} BEFORE ${event} ON entities FOR EACH ROW
       SET NEW.version = NEW.version + SLEEP(IF(RAND() < 0.1, 0.1, 0))`,
    )
  const last = new Map<string, number>()
  const keyOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
  const write = async (): Promise<void> => {
    let rows: readonly EntityInsert[] = [newEntity(), newEntity()]
    await shard.entities.insert(rows, { epoch })
    for (let version = 2; version < 30; version++) {
      const swaps = rows.slice(version % 2).map((row) => ({ ...row, base: row.version, version }))
      await shard.entities.replace(swaps, { epoch })
      for (const { id } of swaps) last.set(keyOf(id), version)
      rows = rows.map((row, i) => (i < version % 2 ? row : { ...row, version }))
    }
  }
  let writing = true
  const follow = async (seen: Map<string, number>): Promise<void> => {
    for (
      let after = { updated: (await shard.entities.floor()).floor, addedId: 0 }, isLast = false;
      !isLast;
    ) {
      isLast = !writing
      const until = await shard.entities.raiseFloor()
      for (const { id, version } of await shard.entities.pageOfChanges({ after, until }, 1_000))
        seen.set(keyOf(id), version)
      after = { updated: until, addedId: 0 }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  // Each reader raises the floor that the other one reads up to.
  const followers = [new Map<string, number>(), new Map<string, number>()]
  const following = followers.map(follow)
  await Promise.all(Array.from({ length: 8 }, write))
  writing = false
  await Promise.all(following)
  expect(last.size).toBe(16)
  for (const seen of followers)
    expect([...last].filter(([id, version]) => seen.get(id) !== version)).toEqual([])
})
