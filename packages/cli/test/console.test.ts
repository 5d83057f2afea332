import { PassThrough, Readable } from 'node:stream'
import { request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { runProgram } from '../src/program.ts'
import { projectFolder, runInside } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'

/** The answer to a request under the name of a host. */
function ask(url: string, path: string, host?: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { ...(host && { headers: { host } }) }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

test.each([[[]], [['--show-values']]])(
  'the window is served to this machine until Ctrl-C: %j',
  async (more) => {
    const cwd = projectFolder()
    const run = (...args: string[]): ReturnType<typeof runInside> =>
      runInside([...args, '--shards', SHARDS], { cwd })
    await run('init')
    const put = await run('put', '{"title":"Very secret"}', '--json')
    const { id } = put.json<{ id: string }>()

    const stop = new AbortController()
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    let printed = ''
    stdout.on('data', (part: Buffer) => (printed += part.toString()))
    const running = runProgram(['console', '--json', '--shards', SHARDS, ...more], {
      stdin: Readable.from([]),
      stdout,
      stderr,
      env: {},
      cwd,
      signal: stop.signal,
    })
    await vi.waitUntil(() => printed.endsWith('\n'), { timeout: 30_000 })
    const { url } = JSON.parse(printed) as { url: string }
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/store$/)

    expect((await ask(url, '/')).status).toBe(302)
    expect(await ask(url, '/store/shards')).toMatchObject({
      status: 200,
      body: expect.stringContaining('Shards'),
    })
    const entity = await ask(url, `/store/entity?id=${id}`)
    expect(entity.status).toBe(200)
    expect(entity.body.includes('Very secret')).toBe(more.length > 0)
    expect((await ask(url, '/store', 'evil.example:80')).status).toBe(421)
    expect((await ask(url, '/else')).status).toBe(404)

    const port = new URL(url).port
    const taken = await run('console', '--port', port)
    expect([taken.code, taken.stderr]).toEqual([
      2,
      expect.stringContaining(`Port ${port} cannot be listened on`),
    ])
    stop.abort()
    expect(await running).toBe(0)
  },
)
