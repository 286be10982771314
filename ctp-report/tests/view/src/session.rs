async fn serve(listener: Listener) {
    spawn(accept_loop(listener));
    loop {
        let (conn, _) = listener.accept().await?;
        log("connected");
        spawn(session(conn));
    }
}

/// Reads requests until the peer goes away.
async fn session(mut conn: Conn) -> Result<(), Error> {
    let mut state = State::new();
    loop {
        let mut head = [0; 4];
	// The length of the request.
        // It comes first.
        let n = conn.read(&mut head).await?;
        state.advance(&head[..n])?;
    }
}
async fn tick(timer: &Timer) {
    timer.sleep().await;
}
