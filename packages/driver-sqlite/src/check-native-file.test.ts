import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const here = fileURLToPath(new URL('..', import.meta.url))
const platform = `${process.platform}-${process.arch}`
const program = `
import { memoryShards } from './src/index.ts'
await memoryShards().connect().then(() => console.log('open'), (error) => {
  console.log(JSON.stringify({ ...error, message: error.message, cause: undefined }))
})`

let folder: string

/** A copy of this package whose better-sqlite3 has no native file. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-native-'))
  cpSync(join(here, 'src'), join(folder, 'src'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'program.ts'), program)
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@looseleaf'), { recursive: true })
  for (const name of ['@looseleaf/core', '@looseleaf/driver-kysely', 'kysely']) {
    symlinkSync(realpathSync(join(here, 'node_modules', name)), join(modules, name), 'junction')
  }
  const sqlite = realpathSync(join(here, 'node_modules/better-sqlite3'))
  for (const part of ['package.json', 'lib']) {
    cpSync(join(sqlite, part), join(modules, 'better-sqlite3', part), { recursive: true })
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

async function run(...options: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=@looseleaf/source', ...options, 'program.ts'],
    { cwd: folder },
  )
  return stdout.startsWith('{') ? JSON.parse(stdout) : stdout.trim()
}

const refused = (...parts: string[]): object => ({
  code: 'SHARD_UNAVAILABLE',
  retryable: false,
  message: expect.stringMatching(new RegExp(`^SQLite cannot be loaded: .*${parts.join('.*')}`)) as string,
})

test('the error for a missing native file names the platform, and the remedy for bundles, copies and other platforms', async () => {
  expect(await run()).toMatchObject(
    refused(
      `better-sqlite3 for ${platform} is missing`,
      'external',
      'prebuilds',
      'npm rebuild better-sqlite3',
    ),
  )
})

test('the error for a native file of another platform names this platform', async () => {
  const release = join(folder, 'node_modules/better-sqlite3/build/Release')
  mkdirSync(release, { recursive: true })
  writeFileSync(join(release, 'better_sqlite3.node'), 'of another platform')
  expect(await run()).toMatchObject(
    refused('not built for this platform', platform, 'npm rebuild better-sqlite3'),
  )
})

test('the error for a forbidden native file names the option that allows it', async () => {
  const release = join(folder, 'node_modules/better-sqlite3/build/Release')
  mkdirSync(release, { recursive: true })
  writeFileSync(join(release, 'better_sqlite3.node'), '')
  expect(await run('--permission', '--allow-fs-read=*')).toMatchObject(refused('--allow-addons'))
  expect(await run('--no-addons')).toMatchObject(refused('--no-addons'))
})
