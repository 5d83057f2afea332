import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { expect, onTestFinished, test } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const BIN = await bundleOf(new URL('../src/bin.ts', import.meta.url))
const run = promisify(execFile)

test('the package includes the command, and the command accepts the config of the README', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'looseleaf-command-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(PACKAGE, join(cwd, 'node_modules', 'looseleaf'), 'dir')
  const readme = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
  const config = /^```ts no-run\n(\/\/ looseleaf\.config\.ts\n[^]*?)^```$/m.exec(readme)?.[1] ?? ''
  writeFileSync(join(cwd, 'looseleaf.config.ts'), config)
  const looseleaf = async (...args: string[]): Promise<string> => {
    const program = ['--conditions=@looseleaf/source', BIN, ...args]
    // The servers in the config do not exist.
    const env = { ...process.env, LOOSELEAF_SHARDS: 'sqlite:data?shards=2' }
    return (await run(process.execPath, program, { cwd, env })).stdout
  }

  expect(await looseleaf('init')).toContain('2 shards, 1 index')
  const user = '0192f0c1-7c1e-7abc-8def-0123456789ab'
  await looseleaf('put', JSON.stringify({ user_id: user, title: 'Hello' }))
  const page = JSON.parse(await looseleaf('query', 'user_id', `user_id=${user}`, '--json')) as object
  expect(page).toMatchObject({ items: [{ properties: { title: 'Hello' } }] })
})
