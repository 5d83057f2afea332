import { MAX_LEASE_MS } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { newName, withBench, type ContractParts } from './harness.ts'

const MINUTE = 60_000

export function taskContract(parts: ContractParts): void {
  const bench = withBench(parts)
  const test = (title: string, body: (name: string) => Promise<void>): unknown =>
    parts.runner.test(title, () => body(newName('task')))

  test('a task does not exist before it is claimed', async () => {
    expect(await bench.shard.tasks.load(newName('task'))).toBeUndefined()
  })

  test('a claimed task has no progress at first, and belongs to its owner', async (name) => {
    expect(await bench.shard.tasks.claim(name, 'a', MINUTE)).toEqual({ progress: '', owner: 'a' })
    expect(await bench.other.tasks.load(name)).toEqual({ progress: '', owner: 'a' })
  })

  test('a claimed task rejects other owners', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toBeUndefined()
    expect(await bench.other.tasks.save(name, 'b', 'mine', MINUTE)).toBe(false)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: '', owner: 'a' })
  })

  test('an owner may claim its task again', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    await bench.shard.tasks.save(name, 'a', 'half', MINUTE)
    expect(await bench.shard.tasks.claim(name, 'a', MINUTE)).toEqual({ progress: 'half', owner: 'a' })
  })

  test('one of several concurrent claims succeeds', async (name) => {
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? bench.shard : bench.other).tasks.claim(name, `owner ${i}`, MINUTE),
      ),
    )
    const winners = claims.flatMap((state, i) => (state === undefined ? [] : [`owner ${i}`]))
    expect(winners).toHaveLength(1)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: '', owner: winners[0] })
  })

  test('progress comes back unchanged', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    for (const progress of ['x', '', ' trailing ', '{"é":"🍃\'\\"\\\\"}', 'long '.repeat(20_000)]) {
      expect(await bench.shard.tasks.save(name, 'a', progress, MINUTE)).toBe(true)
      expect(await bench.shard.tasks.load(name)).toEqual({ progress, owner: 'a' })
    }
  })

  test('a lease of 0 releases the task, and keeps its progress', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    expect(await bench.shard.tasks.save(name, 'a', 'half', 0)).toBe(true)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: 'half', owner: undefined })
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toEqual({ progress: 'half', owner: 'b' })
    expect(await bench.shard.tasks.save(name, 'a', 'more', MINUTE)).toBe(false)
  })

  test('a task with an ended lease can be claimed, and its old owner cannot save', async (name) => {
    await bench.shard.tasks.claim(name, 'a', 1)
    await bench.shard.tasks.save(name, 'a', 'half', 1)
    let state
    while (state === undefined) state = await bench.other.tasks.claim(name, 'b', MINUTE)
    expect(state).toEqual({ progress: 'half', owner: 'b' })
    expect(await bench.shard.tasks.save(name, 'a', 'more', MINUTE)).toBe(false)
    expect(await bench.shard.tasks.load(name)).toEqual({ progress: 'half', owner: 'b' })
  })

  test('a lease by a clock that was two hours ahead has ended once the clock is right', async (name) => {
    // A clock that is two hours ahead leaves an end that no lease can have.
    await bench.shard.tasks.claim(name, 'a', 120 * MINUTE)
    await bench.shard.tasks.save(name, 'a', 'half', 120 * MINUTE)
    expect(await bench.other.tasks.load(name)).toEqual({ progress: 'half', owner: undefined })
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toEqual({ progress: 'half', owner: 'b' })
    expect(await bench.shard.tasks.save(name, 'a', 'more', MINUTE)).toBe(false)
    expect(await bench.shard.tasks.claim(name, 'a', MINUTE)).toBeUndefined()
  })

  test('the longest lease holds', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MAX_LEASE_MS)
    expect(await bench.other.tasks.claim(name, 'b', MINUTE)).toBeUndefined()
  })

  test('names and owners are compared byte by byte', async (name) => {
    await bench.shard.tasks.claim(name, 'a', MINUTE)
    for (const other of [`${name} `, name.toUpperCase(), `${name}é`]) {
      expect(await bench.shard.tasks.claim(other, 'b', MINUTE)).toEqual({ progress: '', owner: 'b' })
    }
    for (const owner of ['a ', 'A', 'á'])
      expect(await bench.shard.tasks.claim(name, owner, MINUTE)).toBeUndefined()
  })

  test('many tasks are claimed, saved and read together, each as it would be alone', async () => {
    const { tasks } = bench.shard
    const names = Array.from({ length: 250 }, () => newName('task'))
    const held = names.filter((_, i) => i % 5 === 0)
    const free = names.filter((_, i) => i % 5 !== 0)
    // Some tasks belong to another owner, some exist and are free, most do not exist.
    for (const name of held.slice(0, 3)) await bench.other.tasks.claim(name, 'b', MINUTE)
    await bench.other.tasks.claimAll(held.slice(3), 'b', MINUTE)
    for (const name of free.slice(0, 3)) {
      await tasks.claim(name, 'c', MINUTE)
      await tasks.save(name, 'c', `by c: ${name}`, 0)
    }
    const progressBefore = (name: string): string => (free.indexOf(name) < 3 ? `by c: ${name}` : '')
    const stateOf = (progress: string, owner: string | undefined) => ({ progress, owner })
    const byName = <T>(list: readonly string[], value: (name: string) => T) =>
      Object.fromEntries(list.map((name) => [name, value(name)]))
    const plain = <T>(map: ReadonlyMap<string, T>): Record<string, T> => Object.fromEntries(map)

    const twice = [...names, names[1] as string]
    expect(plain(await tasks.claimAll(twice, 'a', MINUTE))).toEqual(
      byName(free, (name) => stateOf(progressBefore(name), 'a')),
    )
    expect(plain(await bench.other.tasks.loadAll([...twice, newName('task')]))).toEqual({
      ...byName(held, () => stateOf('', 'b')),
      ...byName(free, (name) => stateOf(progressBefore(name), 'a')),
    })

    const texts = new Map(names.map((name, i) => [name, `{"é":"🍃'","i":${i},"x":"${'long '.repeat(i)}"}`]))
    expect([...(await tasks.saveAll(texts, 'a', MINUTE))].toSorted()).toEqual(free.toSorted())
    expect(plain(await tasks.loadAll(names))).toEqual({
      ...byName(held, () => stateOf('', 'b')),
      ...byName(free, (name) => stateOf(texts.get(name) as string, 'a')),
    })

    expect([...(await tasks.saveAll(texts, 'a', 0))].toSorted()).toEqual(free.toSorted())
    expect([...(await tasks.saveAll(texts, 'a', MINUTE))]).toEqual([])
    expect([...(await bench.other.tasks.claimAll(names, 'b', MINUTE)).keys()].toSorted()).toEqual(
      names.toSorted(),
    )
    expect((await tasks.loadAll([])).size).toBe(0)
    expect((await tasks.claimAll([], 'a', MINUTE)).size).toBe(0)
    expect((await tasks.saveAll(new Map(), 'a', MINUTE)).size).toBe(0)
  })

  test('a save of many tasks passes them to another owner, and a later save of the first one changes nothing', async () => {
    const { tasks } = bench.shard
    const [some, other] = [newName('task'), newName('task')]
    await tasks.claim(some, 'a', MINUTE)
    await tasks.claim(other, 'c', MINUTE)
    const texts = (text: string) => new Map([some, other].map((name) => [name, text]))
    expect(await tasks.saveAll(texts('first'), 'a', MINUTE, { nextOwner: 'b' })).toEqual(new Set([some]))
    expect(await tasks.saveAll(texts('late'), 'a', MINUTE)).toEqual(new Set())
    expect(await tasks.load(some)).toEqual({ progress: 'first', owner: 'b' })
    expect(await tasks.claim(some, 'a', MINUTE)).toBeUndefined()
    expect(await tasks.saveAll(texts('last'), 'b', 0)).toEqual(new Set([some]))
    expect(await tasks.load(some)).toEqual({ progress: 'last', owner: undefined })
  })

  test('concurrent claims of many tasks give each task to one owner', async () => {
    const names = Array.from({ length: 40 }, () => newName('task'))
    const claims = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        (i % 2 === 0 ? bench.shard : bench.other).tasks.claimAll(
          // Each claim has another order, which must not cause deadlocks.
          names.map((_, k) => names[(k * 7 + i) % 40] as string),
          `owner ${i}`,
          MINUTE,
        ),
      ),
    )
    expect(claims.flatMap((claimed) => [...claimed.keys()]).toSorted()).toEqual(names.toSorted())
    const stored = await bench.shard.tasks.loadAll(names)
    for (const [i, claimed] of claims.entries())
      for (const name of claimed.keys()) expect(stored.get(name)?.owner).toBe(`owner ${i}`)
  })
}
