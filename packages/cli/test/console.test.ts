import { get } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PassThrough, Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../src/program.ts'
import { projectFolder, runInside } from './run-command.ts'

const CONFIG = `import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'
export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })],
})
`

interface Served {
  readonly url: string
  readonly id: string
  readonly ended: Promise<{ readonly code: number; readonly stderr: string }>
  stop(): void
}

async function served(...options: string[]): Promise<Served> {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  const { id } = (await runInside(['put', '{"user":"ada-of-1815"}', '--json'], { cwd })).json<{
    id: string
  }>()
  const ctrlC = new AbortController()
  onTestFinished(() => ctrlC.abort())
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const told = text(stderr)
  const running = runProgram(['console', ...options], {
    stdin: Readable.from([]),
    stdout,
    stderr,
    env: {},
    cwd,
    signal: ctrlC.signal,
  })
  const ended = running.then(async (code) => {
    stdout.end()
    stderr.end()
    return { code, stderr: await told }
  })
  const [first] = (await stdout.iterator({ destroyOnReturn: false }).next()).value.toString().split('\n')
  const url = /http:\S+\/store/.exec(first)![0]
  return { url, id, ended, stop: () => ctrlC.abort() }
}

const page = async (url: string): Promise<string> => (await fetch(url)).text()

test('the console shows a store without values and without acts, and Ctrl-C ends it with 0', async () => {
  const { url, id, ended, stop } = await served()
  expect(await page(new URL('/', url).href)).toContain('<h1>')
  expect(await page(`${url}/index`)).toContain('by_user')
  const entity = await page(`${url}/entity/${id}`)
  expect(entity).toContain('✓ present')
  expect(entity).not.toContain('ada-of-1815')
  expect(entity).toContain('start looseleaf console with --values')
  // The command makes no traces, so it has no X-rays.
  expect(await page(url)).not.toMatch(/X-ray/)
  expect((await fetch(`${url}/xray`)).status).toBe(404)
  const offered = await fetch(`${url}/offered`)
  expect(await offered.text()).not.toContain('<button')
  const body = new URLSearchParams({ drop: 'by_user', sure: 'yes' })
  expect((await fetch(`${url}/offered`, { method: 'POST', body })).status).toBe(405)
  expect(await statusFor(url, 'evil.example.org')).toBe(421)
  stop()
  expect(await ended).toEqual({ code: 0, stderr: '' })
})

test('--values shows values, and --acts allows dropping an index, with a line on stderr', async () => {
  const { url, id, ended, stop } = await served('--values', '--acts')
  expect(await page(`${url}/entity/${id}`)).toContain('ada-of-1815')
  const offered = await fetch(`${url}/offered`)
  const cookie = offered.headers.getSetCookie()[0]!.split(';')[0]!
  const token = /name="token" value="([^"]+)"/.exec(await offered.text())![1]!
  const body = new URLSearchParams({ token, drop: 'by_user', sure: 'yes' })
  const dropped = await fetch(`${url}/offered`, {
    method: 'POST',
    headers: { cookie },
    body,
    redirect: 'manual',
  })
  expect(dropped.status).toBe(303)
  expect(await page(`${url}/index`)).not.toContain('by_user')
  stop()
  const { code, stderr } = await ended
  expect(code).toBe(0)
  expect(stderr).toMatch(/^\S+ drop by_user \(\d+ ms\): done\n$/)
})

test('the error of --acts without an index names the missing part', async () => {
  const cwd = projectFolder()
  const shards = ['--shards', 'sqlite:data?shards=2']
  await runInside(['init', ...shards], { cwd })
  const without = await runInside(['console', '--acts', ...shards], { cwd })
  expect(without).toMatchObject({ code: 2, stdout: '' })
  expect(without.stderr).toMatch(
    /--acts adds and drops the indexes of the config, and there is no looseleaf\.config\.ts/,
  )
  writeFileSync(join(cwd, 'looseleaf.config.ts'), `export default { shards: 'sqlite:data?shards=2' }`)
  const { code, stderr } = await runInside(['console', '--acts'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toMatch(/and \S+looseleaf\.config\.ts has none\. Name them there/)
})

test('the error of an unusable port names the port', async () => {
  const { url } = await served()
  const taken = new URL(url).port
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  const { code, stderr } = await runInside(['console', '--port', taken], { cwd })
  expect(code).toBe(2)
  expect(stderr).toMatch(new RegExp(`--port ${taken} cannot be listened on: .*EADDRINUSE`))
  const above = await runInside(['console', '--port', '65536'], { cwd })
  expect(above).toMatchObject({ code: 2, stderr: expect.stringContaining('from 1 to 65535; got 65536') })
})

/** Sends a request with another `Host`, which `fetch` cannot do. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => resolve(response.resume().statusCode)).on('error', reject)
  })
}
