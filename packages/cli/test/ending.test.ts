import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { BUCKETS, moveProject } from './move-project.ts'
import { COMMAND, projectFolder, runInside, startCommand } from './run-command.ts'

const SHARDS = ['--shards', 'sqlite:data']

/** Makes a store with this many entities and returns its folder. */
async function storeOf(entities: number): Promise<string> {
  const cwd = projectFolder()
  await runInside(['init', ...SHARDS], { cwd })
  const input = Array.from({ length: entities }, (_, n) => `{"n":${n},"text":"${'x'.repeat(50)}"}\n`).join('')
  await runInside(['import', '-', ...SHARDS], { cwd, input })
  return cwd
}

test('the command ends although its config has left a timer open', async () => {
  const cwd = await storeOf(1)
  const config = `export default { shards: 'sqlite:data' }; setInterval(() => {}, 1000)`
  writeFileSync(join(cwd, 'looseleaf.config.mjs'), config)
  const { finished } = startCommand(['status'], { cwd })
  expect(await finished).toMatchObject({ code: 0, signal: null, stderr: '' })
})

test.each(['SIGTERM', 'SIGHUP'] as const)(
  'the first %s ends a command whose config never finishes loading',
  async (signal) => {
    const cwd = projectFolder()
    const config = `console.error('loading'); setInterval(() => {}, 1000); await new Promise(() => {}); export default {}`
    writeFileSync(join(cwd, 'looseleaf.config.mjs'), config)
    const { child, finished } = startCommand(['status'], { cwd })
    await once(child.stderr!, 'data')
    child.kill(signal)
    expect(await finished).toMatchObject({ code: 130, stdout: '', stderr: 'loading\nStopped.\n' })
  },
)

test('hang-ups of a closed terminal release a move like Ctrl-C, and name the command to go on', async (context) => {
  const { start, moveIn, openMove } = await moveProject(context)
  const { child, finished } = start(`shard move --from 0 --to 1 --buckets ${BUCKETS} --rows-per-second 100`)
  const { id } = await moveIn('copying')
  // The kernel and the shell send one each.
  child.kill('SIGHUP')
  child.kill('SIGHUP')
  const { code, stderr } = await finished
  expect(code).toBe(130)
  expect(stderr).toMatch(
    RegExp(
      `Move ${id} is copying, and its progress is saved\\. Go on: looseleaf shard repair\\. .*\nStopped\\.\n$`,
    ),
  )
  expect(await openMove()).toMatchObject({ id, holder: undefined })
}, 60_000)

const noFull = existsSync('/dev/full') ? '' : ' (left out: this system has no /dev/full)'

test.skipIf(noFull)(`a full disk ends a command with one line and exit code 74${noFull}`, async () => {
  const cwd = await storeOf(2_000)
  for (const [args, stderr] of [
    [['--help'], 'Error: The output cannot be written: the disk is full (ENOSPC).\n'],
    [['status'], 'Error: The output cannot be written: the disk is full (ENOSPC).\n'],
    [
      ['export'],
      expect.stringMatching(
        /^Error: The export is not complete: [\d,]+ entities were read before it ended\. The output cannot be written: the disk is full \(ENOSPC\)\.\n$/,
      ),
    ],
    [['export', '--json'], expect.stringMatching(/^\{"error":\{"code":"OUTPUT_FAILED",[^\n]*\}\n$/)],
  ] as const) {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [...COMMAND, ...args, ...SHARDS], {
      cwd,
      stdio: ['ignore', full, 'pipe'],
    })
    const [written, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
    closeSync(full)
    expect({ code, written }).toEqual({ code: 74, written: stderr })
  }
})

test('an export whose reader closes the pipe says that it is not complete', async () => {
  const cwd = await storeOf(5_000)
  const { child, finished } = startCommand(['export', ...SHARDS], { cwd })
  await once(child.stdout!, 'data')
  child.stdout!.destroy()
  const { code, stderr } = await finished
  expect(stderr).toMatch(
    /^Error: The export is not complete: .* its reader has closed the pipe \(EPIPE\)\.\n$/,
  )
  expect(code).toBe(74)
})

test('an export to stdout says at its end that it is complete', async () => {
  const cwd = await storeOf(2)
  expect((await runInside(['export', ...SHARDS], { cwd })).stderr).toBe('Complete: 2 entities exported.\n')
  expect((await runInside(['export', '--json', ...SHARDS], { cwd })).stderr).toBe('{"exported":2}\n')
})

const noZero = existsSync('/dev/zero') ? '' : ' (left out: this system has no /dev/zero)'

test.skipIf(noZero)(`an import of an endless line ends at the size limit of a line${noZero}`, async () => {
  const cwd = await storeOf(1)
  const result = await runInside(['import', '/dev/zero', '--json', ...SHARDS], { cwd })
  expect(result.code).toBe(1)
  expect(result.json()).toMatchObject({
    refused: 1,
    nextLine: 1,
    errors: [{ line: 1, code: 'BODY_TOO_LARGE' }],
  })
})
