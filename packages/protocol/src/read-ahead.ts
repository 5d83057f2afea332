/** Yields the same pages, and reads the next one while the consumer works on a page. So two pages are in memory at a time. */
export async function* readAhead<Page>(
  pages: AsyncGenerator<Page, void, undefined>,
): AsyncGenerator<Page, void, undefined> {
  let next = pages.next()
  try {
    for (let page = await next; page.done !== true; page = await next) {
      next = pages.next()
      // Its rejection is thrown by the next `await`, and must not end the process meanwhile.
      next.catch(() => {})
      yield page.value
    }
  } finally {
    // No read is in flight when the consumer goes on.
    await next.catch(() => {})
    await pages.return()
  }
}
