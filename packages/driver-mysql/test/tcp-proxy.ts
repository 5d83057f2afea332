import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Direction in which bytes are lost, unnoticed by both sides. Goodbyes are lost in both directions. */
export type Silence = 'none' | 'to-server' | 'to-client' | 'both'

/** A network between a driver and a server. */
export interface TcpProxy {
  readonly port: number
  /** Connections that were accepted so far. */
  readonly accepted: number
  /** Open connections of the driver, as far as a network can know. */
  readonly open: number
  /** Sockets of the proxy. */
  readonly sockets: number
  silence: Silence
  /** Port of the server of new connections. */
  target: number
  /** Changes the bytes of the driver before they reach the server. */
  rewrite: (bytes: Buffer) => Buffer
  /** Breaks every connection. */
  cut(): void
  close(): Promise<void>
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const near = new Set<Socket>()
  const far = new Set<Socket>()
  let accepted = 0
  let silence: Silence = 'none'
  const server = createServer({ allowHalfOpen: true }, (driver) => {
    accepted++
    const behind = connect(proxy.target, '127.0.0.1')
    near.add(driver)
    far.add(behind)
    driver.on('data', (bytes) => {
      if (silence === 'none' || silence === 'to-client') behind.write(proxy.rewrite(bytes))
    })
    behind.on('data', (bytes) => {
      if (silence === 'none' || silence === 'to-server') driver.write(bytes)
    })
    for (const [socket, peer] of [
      [driver, behind],
      [behind, driver],
    ] as const) {
      const part = (): void => {
        if (silence === 'none') for (const end of [socket, peer]) end.destroy()
      }
      socket.on('error', part)
      socket.on('end', part)
      socket.on('close', () => {
        near.delete(socket)
        far.delete(socket)
        part()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  function cut(): void {
    for (const socket of [...near, ...far]) socket.destroy()
  }

  const proxy: TcpProxy = {
    port,
    get accepted() {
      return accepted
    },
    get open() {
      return near.size
    },
    get sockets() {
      return near.size + far.size
    },
    get silence() {
      return silence
    },
    set silence(now) {
      silence = now
      if (now !== 'none') return
      // Both sides get the goodbyes that were lost.
      for (const socket of [...near, ...far]) if (socket.readableEnded) socket.destroy()
    },
    target,
    rewrite: (bytes) => bytes,
    cut,
    async close() {
      silence = 'none'
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
