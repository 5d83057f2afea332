import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Driver } from '@looseleaf/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sqliteShards } from './sqlite-shards.ts'

let above: string
let driver: Driver | undefined

beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'looseleaf-modes-'))
})
afterEach(async () => {
  await driver?.close()
  await rm(above, { recursive: true })
})

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

/** Connects and writes, so that every file of a shard exists. */
async function use(folder: string): Promise<Driver> {
  driver = await sqliteShards({ folder, shards: 2 }).connect()
  for (const shard of driver.shards) await shard.createTables()
  return driver
}

const warningsOf = async ({ shards }: Driver): Promise<readonly string[]> =>
  (await Promise.all(shards.map((shard) => shard.warnings()))).flat()

const isWindows = process.platform === 'win32'

describe.skipIf(isWindows)(`modes of files${isWindows ? ' (left out: Windows has no modes)' : ''}`, () => {
  test('new files and folders belong to the user of the process only, under any umask', async () => {
    const umask = process.umask(0)
    try {
      const folder = join(above, 'data', 'feed')
      const opened = await use(folder)
      expect([await modeOf(join(above, 'data')), await modeOf(folder)]).toEqual(['700', '700'])
      const files = (await readdir(folder)).toSorted()
      expect(files).toEqual(
        [0, 1].flatMap((n) => ['', '-shm', '-wal'].map((end) => `shard-${n}.sqlite${end}`)),
      )
      for (const file of files) expect([file, await modeOf(join(folder, file))]).toEqual([file, '600'])
      expect(await warningsOf(opened)).toEqual([])
    } finally {
      process.umask(umask)
    }
  })

  test('existing files keep their modes, and a file that every user can read has a warning', async () => {
    const folder = join(above, 'data')
    await (await use(folder)).close()
    await chmod(above, 0o755)
    await chmod(folder, 0o755)
    await chmod(join(folder, 'shard-1.sqlite'), 0o644)
    const opened = await use(folder)
    expect([await modeOf(folder), await modeOf(join(folder, 'shard-1.sqlite'))]).toEqual(['755', '644'])
    expect(await modeOf(join(folder, 'shard-1.sqlite-wal'))).toBe('644')
    expect(await modeOf(join(folder, 'shard-0.sqlite-wal'))).toBe('600')
    expect(await warningsOf(opened)).toEqual([
      'every user of this machine can read the file; `chmod 600 shard-1.sqlite*` in its folder makes it private.',
    ])
    await chmod(join(folder, 'shard-1.sqlite'), 0o666)
    expect((await warningsOf(opened))[0]).toMatch(/can change the file/)
    // The mode of the folder keeps other users out then.
    await chmod(folder, 0o700)
    expect(await warningsOf(opened)).toEqual([])
    await chmod(folder, 0o755)
    const command = /`(.*)`/.exec((await warningsOf(opened))[0] ?? '')?.[1] as string
    expect(spawnSync(command, { shell: true, cwd: folder }).status).toBe(0)
    expect(await warningsOf(opened)).toEqual([])
  })
})
