import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

export interface ClearPasswordServer {
  readonly port: number
  /** Bytes that clients have sent after the request for the password in clear text. */
  readonly answers: Buffer[]
  close(): void
}

const CAPABILITIES = { tls: 0x800, others: 0x8_0000 | 0x8000 | 0x200 | 0x8 }

/** Speaks MySQL's protocol up to the request for the password in clear text, as RDS does for its tokens. */
export async function startClearPasswordServer(certificate?: {
  readonly cert: Buffer
  readonly key: Buffer
}): Promise<ClearPasswordServer> {
  const answers: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write(packet(0, greeting(certificate === undefined ? 0 : CAPABILITIES.tls)))
    if (certificate === undefined) askFrom(socket, 2)
    else {
      // The request for TLS is a packet of 36 bytes. Encrypted bytes may have arrived with it.
      socket.once('readable', () => {
        socket.read(36)
        const encrypted = new TLSSocket(socket, { isServer: true, ...certificate })
        encrypted.on('error', () => {})
        askFrom(encrypted, 3)
      })
    }
  })
  /** Reads the login, and then asks for the password. */
  function askFrom(socket: Socket, sequence: number): void {
    socket.once('data', () => {
      socket.on('data', (answer: Buffer) => {
        answers.push(answer)
        socket.destroy()
      })
      socket.write(packet(sequence, Buffer.from('\xfemysql_clear_password\0', 'latin1')))
    })
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    answers,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function packet(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUIntLE(payload.length, 0, 3)
  header[3] = sequence
  return Buffer.concat([header, payload])
}

function greeting(tls: number): Buffer {
  const capabilities = Buffer.alloc(4)
  capabilities.writeUInt32LE(CAPABILITIES.others | tls)
  return Buffer.concat([
    Buffer.from('\x0a8.0.40\0\x01\0\0\0', 'latin1'),
    Buffer.alloc(8, 1),
    Buffer.from([0]),
    capabilities.subarray(0, 2),
    Buffer.from([45, 2, 0]),
    capabilities.subarray(2),
    Buffer.from([21]),
    Buffer.alloc(10),
    Buffer.alloc(12, 1),
    Buffer.from('\0mysql_native_password\0', 'latin1'),
  ])
}
