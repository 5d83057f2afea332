import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Fault, FaultRule } from './fault.ts'
import { createPacedWriter, FULL_PACE, type PacedWriter } from './paced-writer.ts'

/** A TCP proxy on 127.0.0.1 that injects faults. */
export interface FaultProxy {
  readonly port: number
  /** Number of open connections of clients. */
  readonly connections: number
  /** Number of injected faults, by kind. */
  readonly injected: Readonly<Record<string, number>>
  /**
   * Sets a rule that is called at every connect and every request; undefined passes everything on. Lasting
   * faults of a connection stay.
   */
  setRule(rule: FaultRule | undefined): void
  /** Sends new connections to this port. */
  setTarget(port: number): void
  /** Ends all faults: delayed bytes go out, and connections that have lost bytes are closed. */
  heal(): void
  /** Resets every connection. */
  resetAll(): void
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  readonly toServer: PacedWriter
  readonly toClient: PacedWriter
  swallows: { toServer: boolean; toClient: boolean }
  /** Fault of the next answer. */
  answer: { readonly passOn: number; readonly ending: 'reset' | 'end' } | undefined
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const links = new Set<Link>()
  const silent = new Set<Socket>()
  /** Server sides of silent connections whose client is gone without the server's knowledge. */
  const abandoned = new Set<Socket>()
  const injected: Record<string, number> = {}
  let target = targetPort
  let rule: FaultRule | undefined
  let numbered = 0

  const server = createServer({ noDelay: true }, (client) => {
    const connection = ++numbered
    const fault = rule?.({ kind: 'connect', connection })
    if (fault !== undefined) count(fault)
    client.on('error', () => undefined)
    if (fault?.kind === 'refuse') return void client.resetAndDestroy()
    if (fault?.kind === 'accept and be silent') {
      silent.add(client)
      client.on('close', () => silent.delete(client))
      return void client.resume()
    }
    const link = join(client, connection)
    if (fault !== undefined) apply(link, fault, undefined)
  })

  function count({ kind }: Fault): void {
    injected[kind] = (injected[kind] ?? 0) + 1
  }

  function join(client: Socket, connection: number): Link {
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const link: Link = {
      client,
      server: upstream,
      toServer: createPacedWriter(upstream, client),
      toClient: createPacedWriter(client, upstream),
      swallows: { toServer: false, toClient: false },
      answer: undefined,
    }
    links.add(link)
    upstream.on('error', () => undefined)
    client.on('data', (bytes: Buffer) => {
      const fault = rule?.({ kind: 'request', connection, bytes })
      if (fault !== undefined) {
        count(fault)
        if (apply(link, fault, bytes)) return
      }
      if (!link.swallows.toServer) link.toServer.write(bytes)
    })
    upstream.on('data', (bytes: Buffer) => {
      if (link.swallows.toClient) return
      const { answer } = link
      if (answer === undefined) return link.toClient.write(bytes)
      link.swallows.toClient = true
      if (answer.passOn > 0) link.toClient.write(bytes.subarray(0, answer.passOn))
      if (answer.ending === 'end') link.toClient.end()
      else client.resetAndDestroy()
      upstream.destroy()
    })
    // A silent client must not send its end either.
    client.on('end', () => link.swallows.toServer || link.toServer.end())
    upstream.on('end', () => link.swallows.toClient || link.toClient.end())
    client.on('close', () => {
      links.delete(link)
      if (!link.swallows.toServer) upstream.destroy()
      else abandoned.add(upstream)
    })
    upstream.on('close', () => {
      abandoned.delete(upstream)
      if (!link.swallows.toClient) client.destroySoon()
    })
    return link
  }

  /** Applies a fault. Returns true if it has handled the request itself. */
  function apply(link: Link, fault: Fault, request: Buffer | undefined): boolean {
    switch (fault.kind) {
      case 'reset': {
        const part = request?.subarray(0, fault.afterBytes)
        if (part === undefined || part.length === 0) reset(link)
        else link.server.write(part, () => reset(link))
        link.swallows = { toServer: true, toClient: true }
        return true
      }
      case 'lose answer':
        link.answer = { passOn: 0, ending: 'reset' }
        return false
      case 'truncate answer':
        link.answer = { passOn: fault.bytes, ending: 'end' }
        return false
      case 'silence':
        link.swallows = {
          toServer: fault.direction !== 'to client',
          toClient: fault.direction !== 'to server',
        }
        return false
      case 'latency':
        setPace(link, { ...FULL_PACE, delayMs: fault.milliseconds })
        return false
      case 'trickle':
        setPace(link, { delayMs: 0, piece: fault.bytes, pauseMs: fault.pauseMs })
        return false
      // These two faults apply to connects; an existing connection is reset.
      case 'accept and be silent':
      case 'refuse':
        reset(link)
        return true
    }
  }

  function heal(): void {
    rule = undefined
    for (const link of links) {
      setPace(link, FULL_PACE)
      if (link.swallows.toServer || link.swallows.toClient) reset(link)
    }
    for (const socket of [...silent, ...abandoned]) socket.destroy()
  }

  function resetAll(): void {
    for (const link of links) reset(link)
    for (const socket of [...silent, ...abandoned]) socket.destroy()
  }

  const port = await listen(server)
  return {
    port,
    injected,
    get connections() {
      return links.size + silent.size
    },
    setRule(next) {
      rule = next
    },
    setTarget(next) {
      target = next
    },
    heal,
    resetAll,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      resetAll()
      await closed
    },
  }
}

function setPace(link: Link, pace: typeof FULL_PACE): void {
  link.toServer.setPace(pace)
  link.toClient.setPace(pace)
}

function reset(link: Link): void {
  link.client.resetAndDestroy()
  link.server.resetAndDestroy()
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
