import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { serve } from '../src/serve.ts'
import { readSettings } from '../src/settings.ts'
import { describeStartError } from '../src/start-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-serve-'))
afterAll(() => rmSync(folder, { recursive: true }))

const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .map((set) => set.split(';', 1)[0])
    .join('; ')

function occupyPort(): Promise<{ server: Server; port: number }> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve({ server, port: typeof address === 'object' && address !== null ? address.port : 0 })
    })
  })
}

test('the first start fills the store, and the second keeps its entities and sessions', async () => {
  const settings = { ...readSettings(['--data', folder], {}), port: 0 }
  const first = await serve(settings)
  expect(first.seeded).toBeGreaterThan(1000)
  const page = await fetch(`${first.url}/sign-in`)
  const cookie = cookiesOf(page)
  const token = /name="token" value="([^"]+)"/.exec(await page.text())?.[1] as string
  const body = new URLSearchParams({ token, name: 'mira' })
  const reply = await fetch(`${first.url}/sign-in`, {
    method: 'POST',
    body,
    headers: { cookie },
    redirect: 'manual',
  })
  const session = cookiesOf(reply)
  await first.stop()

  const second = await serve({ ...readSettings(['--data', folder], {}), port: 0 })
  expect(second.seeded).toBe(0)
  const everything = await (await fetch(`${second.url}/everything`, { headers: { cookie: session } })).text()
  expect(everything).toContain('Signed in as')
  expect(everything).toContain('<article')
  await second.stop()
  await expect(fetch(second.url)).rejects.toThrow()
})

test('pages are rendered before the first visitor, without leaving X-rays', async () => {
  const site = await serve({ ...readSettings(['--data', folder], {}), port: 0 })
  try {
    const [shards, xrays] = await Promise.all(
      ['shards', 'xray'].map(async (page) => (await fetch(`${site.url}/store/${page}`)).text()),
    )
    expect(shards).toContain('index_entry_by_time scan')
    expect(xrays).toContain('This process has none yet.')
  } finally {
    await site.stop()
  }
})

test('a taken port is an error of one line, and no shard is created', async () => {
  const { server, port } = await occupyPort()
  const data = join(folder, 'not-yet')
  const settings = { ...readSettings(['--data', data], {}), port }
  const error: unknown = await serve(settings).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(describeStartError(error)).toMatch(/^That port is taken by another program\./)
  expect(readdirSync(data)).toEqual([])
  server.close()
})

test('without a port, the site listens on the first free one from 3000', async () => {
  const settings = readSettings(['--data', folder], {})
  const one = await serve(settings)
  const two = await serve(settings)
  const ports = [one, two].map(({ url }) => Number(new URL(url).port))
  expect(ports[0]).toBeGreaterThanOrEqual(3000)
  expect(ports[1]).toBeGreaterThan(ports[0] as number)
  await one.stop()
  await two.stop()
})
