import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { Fault, Occasion } from './fault.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'

const cleanUps: (() => Promise<unknown> | void)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

/** Answers in capitals, and records its input. */
async function startEcho(): Promise<{ port: number; got: () => string; sockets: Set<Socket> }> {
  let got = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (bytes: Buffer) => {
      got += bytes.toString()
      socket.write(bytes.toString().toUpperCase())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, got: () => got, sockets }
}

interface Client {
  readonly socket: Socket
  heard(): string
  /** Resolves with all input when it is this long, or the connection is over. */
  until(length: number): Promise<string>
  /** `ECONNRESET`, or `end` after a regular close. */
  readonly over: Promise<string>
}

async function dial(proxy: FaultProxy): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1')
  cleanUps.push(() => void socket.destroy())
  let heard = ''
  const waiting = new Set<() => void>()
  let isOver = false
  const wake = (): void => waiting.forEach((look) => look())
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.toString()
    wake()
  })
  let how = 'end'
  socket.on('error', (error: NodeJS.ErrnoException) => {
    how = error.code ?? 'none'
  })
  const over = new Promise<string>((resolve) =>
    socket.on('close', () => {
      isOver = true
      wake()
      resolve(how)
    }),
  )
  await Promise.race([new Promise<void>((resolve) => socket.on('connect', resolve)), over])
  return {
    socket,
    over,
    heard: () => heard,
    until: (length) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (heard.length >= length || isOver) resolve(heard)
        }
        waiting.add(look)
        look()
      }),
  }
}

async function setUp(): Promise<{ echo: Awaited<ReturnType<typeof startEcho>>; proxy: FaultProxy }> {
  const echo = await startEcho()
  const proxy = await startFaultProxy(echo.port)
  cleanUps.push(() => proxy.close())
  return { echo, proxy }
}

const onRequest =
  (fault: Fault) =>
  (occasion: Occasion): Fault | undefined =>
    occasion.kind === 'request' ? fault : undefined
const onConnect =
  (fault: Fault) =>
  (occasion: Occasion): Fault | undefined =>
    occasion.kind === 'connect' ? fault : undefined

/** Polls until the condition holds; the timeout of the test is the limit. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(1)
}

describe('a fault proxy', () => {
  test('without a rule the proxy passes on all bytes and the end, in both directions', async () => {
    const { echo, proxy } = await setUp()
    const client = await dial(proxy)
    client.socket.write('hello')
    expect(await client.until(5)).toBe('HELLO')
    const long = 'x'.repeat(3_000_000)
    client.socket.write(long)
    expect(await client.until(5 + long.length)).toHaveLength(5 + long.length)
    expect(proxy.connections).toBe(1)
    client.socket.end()
    expect(await client.over).toBe('end')
    await eventually(() => proxy.connections === 0 && echo.sockets.size === 0)
  })

  test('reset: the server gets the first bytes, and both sides are reset', async () => {
    const { echo, proxy } = await setUp()
    const client = await dial(proxy)
    proxy.setRule(onRequest({ kind: 'reset', afterBytes: 3 }))
    client.socket.write('statement')
    expect(await client.over).toBe('ECONNRESET')
    await eventually(() => echo.sockets.size === 0)
    expect(['', 'sta']).toContain(echo.got())
    expect(client.heard()).toBe('')
    expect(proxy.injected).toEqual({ reset: 1 })
  })

  test('lose answer: the server executes the request, and the client gets no answer', async () => {
    const { echo, proxy } = await setUp()
    const client = await dial(proxy)
    proxy.setRule(onRequest({ kind: 'lose answer' }))
    client.socket.write('commit')
    expect(await client.over).toBe('ECONNRESET')
    expect([echo.got(), client.heard()]).toEqual(['commit', ''])
  })

  test('truncate answer: the client gets the beginning and a regular close', async () => {
    const { proxy } = await setUp()
    const client = await dial(proxy)
    proxy.setRule(onRequest({ kind: 'truncate answer', bytes: 2 }))
    client.socket.write('select')
    expect(await client.over).toBe('end')
    expect(client.heard()).toBe('SE')
  })

  test.each(['both', 'to server', 'to client'] as const)(
    'silence %s: bytes of this direction are swallowed',
    async (direction) => {
      const { echo, proxy } = await setUp()
      const [client, other] = [await dial(proxy), await dial(proxy)]
      proxy.setRule((occasion) =>
        occasion.kind === 'request' && occasion.bytes.includes('hush')
          ? { kind: 'silence', direction }
          : undefined,
      )
      client.socket.write('hush')
      // The other direction still works.
      other.socket.write('aloud')
      expect(await other.until(5)).toBe('ALOUD')
      if (direction === 'to client') await eventually(() => echo.got().includes('hush'))
      else expect(echo.got()).toBe('aloud')
      expect(client.heard()).toBe('')
      expect(client.socket.destroyed).toBe(false)
      proxy.heal()
      expect(await client.over).toBe('ECONNRESET')
      other.socket.write('still')
      expect(await other.until(10)).toBe('ALOUDSTILL')
    },
  )

  test("a silent connection hides the client's end from the server until it is healed", async () => {
    const { echo, proxy } = await setUp()
    const client = await dial(proxy)
    client.socket.write('hello')
    await client.until(5)
    proxy.setRule(onRequest({ kind: 'silence', direction: 'both' }))
    client.socket.write('hush')
    client.socket.destroy()
    await eventually(() => proxy.connections === 0)
    expect(echo.sockets.size).toBe(1)
    proxy.heal()
    await eventually(() => echo.sockets.size === 0)
  })

  test('latency: all bytes arrive, in order, and not before their time', async () => {
    const { proxy } = await setUp()
    const client = await dial(proxy)
    proxy.setRule(onRequest({ kind: 'latency', milliseconds: 30 }))
    const start = performance.now()
    for (const word of ['one ', 'two ', 'three']) client.socket.write(word)
    expect(await client.until(13)).toBe('ONE TWO THREE')
    expect(performance.now() - start).toBeGreaterThanOrEqual(55)
  })

  test('trickle: all bytes arrive, in pieces', async () => {
    const { proxy } = await setUp()
    const client = await dial(proxy)
    proxy.setRule(onRequest({ kind: 'trickle', bytes: 2, pauseMs: 5 }))
    const start = performance.now()
    client.socket.write('abcdefghij')
    expect(await client.until(10)).toBe('ABCDEFGHIJ')
    expect(performance.now() - start).toBeGreaterThanOrEqual(15)
  })

  test('accept and be silent: a client is connected and gets no answer', async () => {
    const { echo, proxy } = await setUp()
    proxy.setRule(onConnect({ kind: 'accept and be silent' }))
    const client = await dial(proxy)
    proxy.setRule(undefined)
    client.socket.write('hello')
    const other = await dial(proxy)
    other.socket.write('aloud')
    await other.until(5)
    expect([client.heard(), echo.got(), proxy.connections]).toEqual(['', 'aloud', 2])
    proxy.heal()
    await client.over
  })

  test('refuse: no client is connected', async () => {
    const { echo, proxy } = await setUp()
    proxy.setRule(onConnect({ kind: 'refuse' }))
    const client = await dial(proxy)
    expect(await client.over).toBe('ECONNRESET')
    expect(echo.sockets.size).toBe(0)
  })

  test('a new target applies to new connections', async () => {
    const { echo, proxy } = await setUp()
    const second = await startEcho()
    const old = await dial(proxy)
    old.socket.write('a')
    await old.until(1)
    proxy.setTarget(second.port)
    const fresh = await dial(proxy)
    fresh.socket.write('b')
    await fresh.until(1)
    old.socket.write('c')
    await old.until(2)
    expect([echo.got(), second.got()]).toEqual(['ac', 'b'])
  })

  test('resetAll resets every connection', async () => {
    const { echo, proxy } = await setUp()
    const clients = [await dial(proxy), await dial(proxy)]
    for (const client of clients) {
      client.socket.write('x')
      await client.until(1)
    }
    proxy.resetAll()
    expect(await Promise.all(clients.map(({ over }) => over))).toEqual(['ECONNRESET', 'ECONNRESET'])
    await eventually(() => echo.sockets.size === 0)
  })
})
