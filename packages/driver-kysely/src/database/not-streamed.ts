/**
 * The `streamQuery` of every connection; it throws, since Looseleaf reads no streams. The function is shared because V8
 * allocates a generator function per connection in its old space, see decision 47.
 */
// eslint-disable-next-line require-yield -- it always throws
export async function* notStreamed(): AsyncGenerator<never, void, undefined> {
  throw new Error('Results are not streamed.')
}
