; writes into parts of arguments are made in place

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = add i64 %8, 4095
  %21 = lshr i64 %20, 12
  %22 = urem i64 %2, %21
  %23 = udiv i64 %2, %21
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %81, %tail.end ]
  %24 = phi i64 [ %23, %work ], [ %80, %tail.end ]
  %25 = phi i64 [ %22, %work ], [ %78, %tail.end ]
  %26 = icmp slt i64 %task1, %3
  br i1 %26, label %task, label %task.end

task:                                             ; preds = %task.head
  %27 = mul i64 %24, %14
  %28 = getelementptr float, ptr %10, i64 %27
  %29 = mul i64 %24, %19
  %30 = getelementptr float, ptr %17, i64 %29
  %31 = mul i64 %25, 4096
  %32 = add i64 %31, 4096
  %33 = call i64 @llvm.smin.i64(i64 %32, i64 %8)
  %34 = sub i64 %33, %31
  %35 = and i64 %34, -32
  %36 = add i64 %31, %35
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %31, %task ], [ %64, %vector ]
  %37 = icmp slt i64 %vector2, %36
  br i1 %37, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %38 = mul i64 %vector2, 1
  %39 = getelementptr float, ptr %28, i64 %38
  %40 = load <8 x float>, ptr %39, align 4
  %41 = mul i64 %vector2, 1
  %42 = getelementptr float, ptr %28, i64 %41
  %43 = getelementptr float, ptr %42, i64 8
  %44 = load <8 x float>, ptr %43, align 4
  %45 = mul i64 %vector2, 1
  %46 = getelementptr float, ptr %28, i64 %45
  %47 = getelementptr float, ptr %46, i64 16
  %48 = load <8 x float>, ptr %47, align 4
  %49 = mul i64 %vector2, 1
  %50 = getelementptr float, ptr %28, i64 %49
  %51 = getelementptr float, ptr %50, i64 24
  %52 = load <8 x float>, ptr %51, align 4
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %30, i64 %53
  store <8 x float> %40, ptr %54, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %30, i64 %55
  %57 = getelementptr float, ptr %56, i64 8
  store <8 x float> %44, ptr %57, align 4
  %58 = mul i64 %vector2, 1
  %59 = getelementptr float, ptr %30, i64 %58
  %60 = getelementptr float, ptr %59, i64 16
  store <8 x float> %48, ptr %60, align 4
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %30, i64 %61
  %63 = getelementptr float, ptr %62, i64 24
  store <8 x float> %52, ptr %63, align 4
  %64 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %36, %vector.end ], [ %75, %tail ]
  %65 = icmp slt i64 %tail3, %33
  br i1 %65, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %66 = sub i64 %33, %tail3
  %67 = call i64 @llvm.umin.i64(i64 %66, i64 8)
  %68 = trunc i64 %67 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %68, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %69 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %70 = mul i64 %tail3, 1
  %71 = getelementptr float, ptr %28, i64 %70
  %72 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %71, i32 4, <8 x i1> %69, <8 x float> zeroinitializer)
  %73 = mul i64 %tail3, 1
  %74 = getelementptr float, ptr %30, i64 %73
  call void @llvm.masked.store.v8f32.p0(<8 x float> %72, ptr %74, i32 4, <8 x i1> %69)
  %75 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %76 = add i64 %25, 1
  %77 = icmp eq i64 %76, %21
  %78 = select i1 %77, i64 0, i64 %76
  %79 = zext i1 %77 to i64
  %80 = add i64 %24, %79
  %81 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = add i64 %8, 4095
  %21 = lshr i64 %20, 12
  %22 = urem i64 %2, %21
  %23 = udiv i64 %2, %21
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %81, %tail.end ]
  %24 = phi i64 [ %23, %work ], [ %80, %tail.end ]
  %25 = phi i64 [ %22, %work ], [ %78, %tail.end ]
  %26 = icmp slt i64 %task1, %3
  br i1 %26, label %task, label %task.end

task:                                             ; preds = %task.head
  %27 = mul i64 %24, %14
  %28 = getelementptr float, ptr %10, i64 %27
  %29 = mul i64 %24, %19
  %30 = getelementptr float, ptr %17, i64 %29
  %31 = mul i64 %25, 4096
  %32 = add i64 %31, 4096
  %33 = call i64 @llvm.smin.i64(i64 %32, i64 %8)
  %34 = sub i64 %33, %31
  %35 = and i64 %34, -32
  %36 = add i64 %31, %35
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %31, %task ], [ %64, %vector ]
  %37 = icmp slt i64 %vector2, %36
  br i1 %37, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %38 = mul i64 %vector2, 1
  %39 = getelementptr float, ptr %28, i64 %38
  %40 = load <8 x float>, ptr %39, align 4
  %41 = mul i64 %vector2, 1
  %42 = getelementptr float, ptr %28, i64 %41
  %43 = getelementptr float, ptr %42, i64 8
  %44 = load <8 x float>, ptr %43, align 4
  %45 = mul i64 %vector2, 1
  %46 = getelementptr float, ptr %28, i64 %45
  %47 = getelementptr float, ptr %46, i64 16
  %48 = load <8 x float>, ptr %47, align 4
  %49 = mul i64 %vector2, 1
  %50 = getelementptr float, ptr %28, i64 %49
  %51 = getelementptr float, ptr %50, i64 24
  %52 = load <8 x float>, ptr %51, align 4
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %30, i64 %53
  store <8 x float> %40, ptr %54, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %30, i64 %55
  %57 = getelementptr float, ptr %56, i64 8
  store <8 x float> %44, ptr %57, align 4
  %58 = mul i64 %vector2, 1
  %59 = getelementptr float, ptr %30, i64 %58
  %60 = getelementptr float, ptr %59, i64 16
  store <8 x float> %48, ptr %60, align 4
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %30, i64 %61
  %63 = getelementptr float, ptr %62, i64 24
  store <8 x float> %52, ptr %63, align 4
  %64 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %36, %vector.end ], [ %75, %tail ]
  %65 = icmp slt i64 %tail3, %33
  br i1 %65, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %66 = sub i64 %33, %tail3
  %67 = call i64 @llvm.umin.i64(i64 %66, i64 8)
  %68 = trunc i64 %67 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %68, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %69 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %70 = mul i64 %tail3, 1
  %71 = getelementptr float, ptr %28, i64 %70
  %72 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %71, i32 4, <8 x i1> %69, <8 x float> zeroinitializer)
  %73 = mul i64 %tail3, 1
  %74 = getelementptr float, ptr %30, i64 %73
  call void @llvm.masked.store.v8f32.p0(<8 x float> %72, ptr %74, i32 4, <8 x i1> %69)
  %75 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %76 = add i64 %25, 1
  %77 = icmp eq i64 %76, %21
  %78 = select i1 %77, i64 0, i64 %76
  %79 = zext i1 %77 to i64
  %80 = add i64 %24, %79
  %81 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
