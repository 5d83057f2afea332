import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * Runs TCP proxies that delay every byte by `delayMs` each way. Timers have a resolution of a millisecond, so while bytes wait the
 * process sleeps in steps of 0.1 ms. This costs part of a core, and nothing while no bytes are in flight.
 */
const { ports, delayMs } = JSON.parse(process.argv[2] ?? '') as { ports: number[]; delayMs: number }

interface Chunk {
  readonly to: Socket
  readonly bytes: Buffer
  readonly due: number
}

const NAP_MS = 0.1
const cell = new Int32Array(new SharedArrayBuffer(4))
const waiting: Chunk[] = []
let isAwake = false

function pump(): void {
  const now = performance.now()
  let ready = 0
  while (ready < waiting.length && (waiting[ready] as Chunk).due <= now) ready++
  for (const { to, bytes } of waiting.splice(0, ready)) if (to.writable) to.write(bytes)
  isAwake = waiting.length > 0
  if (!isAwake) return
  Atomics.wait(cell, 0, 0, NAP_MS)
  setImmediate(pump)
}

function pipe(from: Socket, to: Socket): void {
  from.on('data', (bytes) => {
    waiting.push({ to, bytes, due: performance.now() + delayMs })
    if (isAwake) return
    isAwake = true
    setImmediate(pump)
  })
  from.on('error', () => undefined)
  from.on('close', () => to.destroy())
}

async function proxyTo(port: number): Promise<number> {
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true })
    pipe(client, upstream)
    pipe(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const proxyPorts = await Promise.all(ports.map(proxyTo))
process.on('disconnect', () => process.exit())
process.send?.(proxyPorts)
