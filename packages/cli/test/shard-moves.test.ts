import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { changeServes } from '@looseleaf/index-engine/internal'
import { describe, expect, test, vi } from 'vitest'
import { BUCKETS, ENTITIES, moveProject } from './move-project.ts'

const MOVE = `shard move --from 0 --to 1 --buckets ${BUCKETS}`

// A command waits some ten seconds for the other processes of the store, so the tests run side by side, the longest first.
describe.concurrent('commands for moves', { timeout: 60_000 }, () => {
  test('a shard that was added gets its share by shard rebalance', async (context) => {
    const { run, expectAll } = await moveProject(context)
    expect(await run('shard add shard-2.sqlite')).toMatchObject({ code: 0 })
    const { code, stdout } = await run('shard rebalance')
    expect(code).toBe(0)
    expect(stdout.match(/^Move \d+ is done: shard 2 \(shard-2.sqlite\) has /gm)).toHaveLength(2)
    const list = (await run('shard list --sizes --json')).json<readonly { size: { entities: number } }[]>()
    for (const { size } of list) expect(size.entities).toBeGreaterThan(ENTITIES / 5)
    expect(await run('shard rebalance')).toMatchObject({
      code: 0,
      stdout: 'The shards have about the same bytes already. Nothing was moved.\n',
    })
    await expectAll()
  })

  test('shard repair ends the move of a command that was killed', async (context) => {
    const { start, run, moveIn, openMove, endLease, expectAll } = await moveProject(context)
    const { child, finished } = start(`${MOVE} --rows-per-second 100`)
    const { id, holder } = await moveIn('copying')
    expect(holder!.worker).toMatch(RegExp(`:${child.pid}$`))
    child.kill('SIGKILL')
    expect(await finished).toMatchObject({ signal: 'SIGKILL' })
    await endLease(id)
    expect((await run('shard status --check')).stdout).toContain(`move ${id}: is copying`)
    const { code, stdout } = await run('shard repair')
    expect(code).toBe(0)
    expect(stdout).toMatch(RegExp(`^Move ${id} is done: `))
    expect(await openMove()).toBeUndefined()
    await expectAll()
  })

  test('Ctrl-C during shard move names both commands, and the same command goes on to the end', async (context) => {
    const { run, moveIn, openMove, expectAll } = await moveProject(context)
    const stop = new AbortController()
    const stopped = run(`${MOVE} --rows-per-second 100`, { stop: stop.signal })
    const { id } = await moveIn('copying')
    stop.abort()
    expect(await stopped).toMatchObject({
      code: 130,
      stdout: '',
      // Lines of progress may come before.
      stderr: expect.stringMatching(
        `Move ${id} is copying, and its progress is saved\\. Go on: looseleaf shard repair\\. Go back: looseleaf shard undo ${id}\\.\nStopped\\.\n$`,
      ),
    })
    const { code, stdout } = await run(MOVE)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      RegExp(
        `^Move ${id} is done: shard 1 \\(shard-1.sqlite\\) has 1,024 buckets of shard 0 \\(shard-0.sqlite\\)\\. ` +
          'Copied: \\d+ entities, \\d+ index rows, 0 claims\\. Compared: \\d+ rows, all the same\\. ' +
          'Sealed: \\d+ groups, [\\d.]+ ms \\(p50\\), [\\d.]+ ms \\(p99\\), [\\d.]+ ms \\(longest\\)\\.\n$',
      ),
    )
    expect(await openMove()).toBeUndefined()
    const listed = (await run('shard list --json')).json<readonly { readonly buckets: number }[]>()
    expect(listed.map(({ buckets }) => buckets)).toEqual([1_024, 3_072])
    await expectAll()
  })

  test('shard drain empties a shard, which takes buckets again after stop-draining', async (context) => {
    const { run, expectAll } = await moveProject(context)
    const drained = await run('shard drain 1')
    expect(drained.code).toBe(0)
    expect(drained.stdout).toMatch(
      /^Move 2 is done: shard 0 \(shard-0.sqlite\) has 2,048 buckets of shard 1 \(shard-1.sqlite\)\./,
    )
    expect(drained.stdout).toContain(
      '\nShard 1 (shard-1.sqlite) has no buckets. Take it out of the store with: looseleaf shard remove 1\n',
    )
    const list = await run('shard list --sizes')
    expect(list.stdout).toMatch(/\n0 +shard-0.sqlite +serving +4096 +0-4095 +300 +0 +300 +[\d.]+ kB/)
    expect(list.stdout).toMatch(/\n1 +shard-1.sqlite +draining +0 +0 +0 +0 +0 bytes/)
    expect((await run('shard move --from 0 --to 1 --count 5')).stderr).toContain('draining')
    expect(await run('shard stop-draining 1')).toMatchObject({
      code: 0,
      stdout: 'Shard 1 (shard-1.sqlite) keeps 0 buckets, and takes others again.\n',
    })
    expect((await run('shard list')).stdout).not.toContain('draining')
    await expectAll()
  })

  test('shard remove takes a drained shard out of the store, and names everything for which another one is needed', async (context) => {
    const { store, run, expectAll } = await moveProject(context)
    const needed = await run('shard remove 1 --dry-run')
    expect(needed).toMatchObject({ code: 4, stdout: '' })
    expect(needed.stderr).toContain(
      'cannot be removed yet, and nothing was changed: it has 2,048 buckets: move them to other shards first (run looseleaf shard drain 1)',
    )
    expect(JSON.parse((await run('shard remove 1 --json')).stderr)).toMatchObject({
      error: { code: 'CONFLICT', retryable: false },
    })
    await store.shards.drain(1)
    expect(await run('shard remove shard-1.sqlite --dry-run')).toMatchObject({
      code: 0,
      stdout: 'Shard 1 (shard-1.sqlite) can be removed. Nothing was changed.\n',
    })
    expect(await run('shard remove 1')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect((await run('shard list')).stdout).toMatch(/\n1 +shard-1.sqlite +draining /)
    expect(await run('shard remove 1 --yes')).toMatchObject({
      code: 0,
      stdout:
        'Shard 1 (shard-1.sqlite) is no shard of the store any more. Its database may be switched off.\n',
    })
    expect((await run('shard list')).stdout).toMatch(/\n1 +shard-1.sqlite +removed /)
    expect((await run('shard move --from 0 --to 7 --count 1')).stderr).toMatch(
      /address: 0 \(shard-0.sqlite\)\.\n$/,
    )
    expect(await run('shard status --check')).toMatchObject({ code: 0 })
    await expectAll()
  })

  test('shard undo takes a stopped move back, after it has waited for the process that has the move', async (context) => {
    const { run, stoppedMove, openMove, expectAll, store } = await moveProject(context)
    const id = await stoppedMove('checking')
    expect(await run(`shard undo ${id} --dry-run`)).toMatchObject({
      code: 0,
      stdout: `Move ${id} can be undone: shard 0 (shard-0.sqlite) would keep 1,024 buckets. Nothing was changed.\n`,
    })
    // Longer than several looks at the lease, which are half a second apart.
    await store.context.driver.shards[1]!.tasks.claim(`move/${id}`, 'another process', 1_700)
    const { code, stdout, stderr } = await run(`shard undo ${id}`)
    expect(code).toBe(0)
    expect(stderr.split('This command waits until it ends, and takes over')).toHaveLength(2)
    expect(stderr).toMatch(RegExp(`^Move ${id}: \\S+:\\d+ has worked on it since `))
    expect(stdout).toMatch(
      RegExp(`^Move ${id} is undone: shard 0 \\(shard-0.sqlite\\) keeps 1,024 buckets, and \\d+ rows`),
    )
    expect(await openMove()).toBeUndefined()
    await expectAll()
  })

  test('shard status says in one line that no move is under way', async (context) => {
    const { run } = await moveProject(context)
    expect(await run('shard status')).toMatchObject({ code: 0, stdout: 'No move is under way.\n' })
    expect((await run('shard status --json')).json()).toEqual({ moves: [], findings: [] })
    expect(await run('shard status --check')).toMatchObject({
      code: 0,
      stdout: 'No move, draining or joining stands still.\n',
    })
    expect(await run('shard repair')).toMatchObject({ code: 0, stdout: 'Nothing was half done.\n' })
  })

  test('shard status names the state, the next step and both commands of a move that stands still', async (context) => {
    const { run, stoppedMove } = await moveProject(context)
    const id = await stoppedMove('checking')
    const { code, stdout } = await run('shard status')
    expect(code).toBe(0)
    const lines = stdout.split('\n').map((line) => line.replaceAll(/ +/g, ' ').trim())
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(RegExp(`^Move ${id}: checking, \\d+%$`)),
        'from shard 0 (shard-0.sqlite)',
        'to shard 1 (shard-1.sqlite)',
        `buckets ${BUCKETS} (1,024, of which 0 handed over)`,
        'held by no process',
        expect.stringMatching(/^copied \d+ entities, \d+ index rows, 0 claims/),
        'verified not yet',
        'held up by no process works on it',
        'next seal and hand over the first group of buckets',
        'go on looseleaf shard repair',
        `go back looseleaf shard undo ${id}`,
      ]),
    )
    const { moves } = (await run('shard status --json')).json<{ moves: readonly object[] }>()
    expect(moves).toMatchObject([
      {
        id,
        from: 0,
        to: 1,
        buckets: BUCKETS,
        state: 'checking',
        holder: null,
        forward: 'looseleaf shard repair',
        back: `looseleaf shard undo ${id}`,
        isBackLater: false,
        verified: null,
        seals: { groups: 0, p50: null, p99: null, worst: null },
      },
    ])
    const status = await run('status')
    expect(status.stdout).toMatch(
      RegExp(
        `\\nMove ${id} of 1,024 buckets from shard 0 to shard 1: checking, \\d+%\\.\\nSee: looseleaf shard status\\n`,
      ),
    )
    expect((await run('status --json')).json()).toMatchObject({ moves: [{ id, state: 'checking' }] })
    const dry = await run('shard repair --dry-run')
    expect(dry.stdout).toContain(`Move ${id}: checking`)
    expect(dry.stdout).toMatch(/Nothing was changed\.\n$/)
  })

  test('shard status --check and status --check end with 1 while a move stands still', async (context) => {
    const { run, stoppedMove } = await moveProject(context)
    const id = await stoppedMove('checking')
    for (const line of ['shard status --check', 'status --check']) {
      const { code, stdout } = await run(line)
      expect([line, code]).toEqual([line, 1])
      expect(stdout).toContain(`look: move stalls: move ${id}: is checking`)
    }
  })

  test('the command back of a move that has handed buckets over is another move', async (context) => {
    const { run, stoppedMove } = await moveProject(context)
    const id = await stoppedMove('switching')
    const { stdout } = await run('shard status')
    expect(stdout).toContain(
      `go back     when it is over: looseleaf shard move --from 1 --to 0 --buckets ${BUCKETS}`,
    )
    expect(stdout).toMatch(/sealed +\d+ groups, [\d.]+ ms \(p50\), [\d.]+ ms \(p99\), [\d.]+ ms \(longest\)/)
    expect(stdout).toMatch(/verified +\d+ rows of both shards were the same at \d{4}-/)
    for (const line of [`shard undo ${id} --dry-run`, `shard undo ${id}`]) {
      const refused = await run(line)
      expect(refused.code).toBe(1)
      expect(refused.stdout).toContain(
        `Move ${id} cannot be undone: 1,024 of its 1,024 buckets were handed over. Nothing was changed.`,
      )
    }
  })

  test('shard undo of a number without a move names the moves under way', async (context) => {
    const { run, stoppedMove } = await moveProject(context)
    expect(await run('shard undo 99')).toMatchObject({
      code: 2,
      stderr: 'Error: Move "99" is over, or was never announced. No move is under way.\n',
    })
    const id = await stoppedMove('checking')
    expect((await run('shard undo x')).stderr).toContain(`Moves under way: ${id}.`)
  })

  test('shard move takes the last buckets of --count, and asks for buckets without a choice', async (context) => {
    const { run, openMove } = await moveProject(context)
    const none = await run('shard move --from 0 --to shard-1.sqlite')
    expect(none).toMatchObject({
      code: 2,
      stderr:
        'Error: Shard 0 (shard-0.sqlite) has 2,048 buckets (0-2047). Name those to be moved by --buckets, such as --buckets 77-96, or give their number by --count.\n',
    })
    const many = await run('shard move --from 0 --to 1 --count 5000')
    expect(many).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has 2,048 buckets that are in no move, and --count is 5,000.'),
    })
    const unknown = await run('shard move --from 0 --to db3 --count 5')
    expect(unknown).toMatchObject({
      code: 2,
      stderr:
        'Error: Shard "db3" is not in the store. A shard is named by its number or its address: 0 (shard-0.sqlite), 1 (shard-1.sqlite).\n',
    })
    expect(await openMove()).toBeUndefined()
    const both = await run('shard move --from 0 --to 1 --count 5 --buckets 7')
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cannot be used with option '--buckets"),
    })
  })

  test('a repeated shard move --count goes on with its move, and begins no other one', async (context) => {
    const { run, stoppedMove, openMove } = await moveProject(context)
    const id = await stoppedMove('checking')
    const other = await run('shard move --from 0 --to 1 --count 5')
    expect(other).toMatchObject({ code: 2 })
    expect(other.stderr).toContain(
      `Move ${id} of 1,024 buckets between these shards is not over, and --count is 5.`,
    )
    const stop = new AbortController()
    const same = run('shard move --from 0 --to 1 --count 1024', { stop: stop.signal })
    await vi.waitUntil(async () => (await openMove())?.holder !== undefined, { timeout: 20_000 })
    stop.abort()
    expect((await same).stderr).toContain(`Move ${id} is `)
    expect(await openMove()).toMatchObject({ id })
  })

  test('dry runs of shard move, drain and rebalance print plans with exact counts, and change nothing', async (context) => {
    const { run, openMove } = await moveProject(context)
    const move = await run(`${MOVE} --dry-run`)
    expect(move.code).toBe(0)
    expect(move.stdout).toMatch(/^FROM +TO +BUCKETS +COUNT +ENTITIES +TOMBSTONES +INDEX ROWS +BODIES\n/)
    expect(move.stdout).toMatch(
      /\n0 \(shard-0.sqlite\) +1 \(shard-1.sqlite\) +0-1023 +1,024 +\d+ +0 +\d+ +[\d.]+ [kM]B\n/,
    )
    expect(move.stdout).toMatch(
      /\n1 move would copy .*\nWarning: No bucket of this store has moved yet\. .*\nNothing was changed\.\n$/,
    )
    const drain = await run('shard drain shard-1.sqlite --dry-run --json')
    expect(drain.json()).toMatchObject({
      moves: [{ from: 1, to: 0, bucketCount: 2_048, tombstones: 0 }],
      problems: [],
    })
    const rebalance = await run('shard rebalance --dry-run')
    expect(rebalance.code).toBe(0)
    expect(rebalance.stdout).toMatch(/Nothing was changed\.\n$/)
    expect(await openMove()).toBeUndefined()
    expect((await run('shard list')).stdout).not.toContain('draining')
  })

  test('a dry run of an impossible move prints every problem and ends with 1', async (context) => {
    const { run } = await moveProject(context)
    const { code, stdout } = await run('shard move --from 0 --to 1 --buckets 2040-2050 --dry-run')
    expect(code).toBe(1)
    expect(stdout).toContain(
      'Problem: This move is not possible: shard 0 does not have 3 of these buckets.\n',
    )
    expect(stdout).toMatch(/Nothing was changed\.\n$/)
  })

  test('a draining that was stopped is a finding, and a problem of shard repair, until it goes on or is given up', async (context) => {
    const { store, run } = await moveProject(context)
    const stop = new AbortController()
    const draining = store.shards.drain(1, { signal: stop.signal, onProgress: () => stop.abort() })
    await expect(draining).rejects.toMatchObject({ code: 'ABORTED' })
    const { moves } = (await run('shard status --json')).json<{
      readonly moves: readonly { readonly id: number }[]
    }>()
    const move = await run('shard status --check')
    expect(move.code).toBe(1)
    expect(move.stdout).toContain(`look: move stalls: move ${moves[0]!.id}: `)
    await store.shards.undo(moves[0]!.id)
    const drain = await run('shard status --check')
    expect(drain.code).toBe(1)
    expect(drain.stdout).toContain(
      'look: drain stalls: shard shard-1.sqlite: is draining, has 2,048 buckets, and no move takes them away.',
    )
    const stalled =
      'Shard shard-1.sqlite is draining, has 2,048 buckets, and no move takes them away. Unless a process drains it now, go on with: looseleaf shard drain 1; or keep its buckets with: looseleaf shard stop-draining 1'
    expect(await run('shard repair --dry-run')).toMatchObject({
      code: 0,
      stdout: `No move is under way.\n${stalled}\n`,
    })
    expect(await run('shard repair')).toMatchObject({ code: 1, stdout: `Problem: ${stalled}\n` })
    await run('shard stop-draining 1')
    expect(await run('shard status --check')).toMatchObject({ code: 0 })
    expect(await run('shard repair')).toMatchObject({ code: 0, stdout: 'Nothing was half done.\n' })
  })

  test('buckets without an owner are a finding, in the words of shard repair', async (context) => {
    const { store, run } = await moveProject(context)
    const shard = store.context.driver.shards[0]!
    await changeServes(shard, (await shard.catalog.load())!, { owns: '10-2047' })
    const repair = await run('shard repair')
    expect(repair.stdout + repair.stderr).toContain('The buckets 0-9 are on no shard')
    for (const command of ['status --check', 'shard status --check']) {
      const { code, stdout } = await run(command)
      expect(code).toBe(1)
      expect(stdout).toContain(
        'act: bucket owners: The buckets 0-9 are on no shard, and no shard has a record',
      )
    }
  })

  test('shard status names the announced moves and the shard that does not answer', async (context) => {
    const { cwd, store, run } = await moveProject(context)
    await store.shards.add('shard-2.sqlite')
    const stop = new AbortController()
    const plan = { from: 0, to: 2, buckets: BUCKETS }
    const moving = store.shards.move(plan, { signal: stop.signal, onProgress: () => stop.abort() })
    await expect(moving).rejects.toMatchObject({ code: 'ABORTED' })
    const { id } = (await store.shards.moves())[0]!
    await store.close()
    for (const end of ['', '-wal', '-shm']) rmSync(join(cwd, 'data', `shard-2.sqlite${end}`), { force: true })
    const { code, stdout } = await run('shard status')
    expect(code).toBe(3)
    expect(stdout).toContain(
      `Move ${id} of the buckets ${BUCKETS} from shard 0 (shard-0.sqlite) to shard 2 (shard-2.sqlite) is announced.\nThe state of moves is unknown: `,
    )
    expect((await run('shard status --json')).json()).toMatchObject({
      moves: null,
      announced: [{ id, ...plan, phase: 'both' }],
      error: { code: 'SHARD_UNAVAILABLE' },
    })
    expect(await run('shard status --check')).toMatchObject({ code: 3, stdout: '' })
    const repair = await run('shard repair')
    expect(repair.stdout + repair.stderr).toContain('shard-2.sqlite')
    expect(repair.code).not.toBe(0)
  })
})
